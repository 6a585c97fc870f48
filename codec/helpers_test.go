package codec_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/codec"
)

// record has a field of every kind that the codecs treat specially.
type record struct {
	ID      int64             `json:"id"`
	Big     uint64            `json:"big"`
	Name    string            `json:"name"`
	Score   float64           `json:"score,omitempty"`
	Small   float32           `json:"small"`
	Blob    []byte            `json:"blob"`
	Tags    []string          `json:"tags"`
	Attrs   map[string]string `json:"attrs"`
	At      time.Time         `json:"at"`
	Addr    netip.Addr        `json:"addr"`
	Wait    time.Duration     `json:"wait"`
	Parent  *record           `json:"parent,omitempty"`
	Grid    [2][2]int8        `json:"grid"`
	On      bool              `json:"on"`
	Amount  *big.Int          `json:"amount"`
	Hidden  string            `json:"-"`
	private int
}

// onlyJSON and onlyText marshal themselves in one way and have no exported fields.
type onlyJSON struct{ s string }

func (o onlyJSON) MarshalJSON() ([]byte, error)  { return json.Marshal("<" + o.s + ">") }
func (o *onlyJSON) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &o.s) }

type onlyText struct{ s string }

func (o onlyText) MarshalText() ([]byte, error)  { return []byte(o.s), nil }
func (o *onlyText) UnmarshalText(b []byte) error { o.s = string(b); return nil }

// everyWay marshals itself in every way, with a different form for each, as decimal types do. No
// form can be read as another.
type everyWay struct{ s string }

func (e everyWay) MarshalJSON() ([]byte, error)   { return json.Marshal([]string{"json", e.s}) }
func (e everyWay) MarshalText() ([]byte, error)   { return []byte("text" + e.s), nil }
func (e everyWay) MarshalBinary() ([]byte, error) { return []byte("bin" + e.s), nil }

func (e *everyWay) UnmarshalJSON(b []byte) error {
	var parts [2]string
	err := json.Unmarshal(b, &parts)
	e.s = parts[1]
	return err
}
func (e *everyWay) UnmarshalText(b []byte) error   { return e.cut("text", b) }
func (e *everyWay) UnmarshalBinary(b []byte) error { return e.cut("bin", b) }

func (e *everyWay) cut(prefix string, b []byte) error {
	s, ok := strings.CutPrefix(string(b), prefix)
	if !ok {
		return errors.New("written another way")
	}
	e.s = s
	return nil
}

// forms returns c plain and with every compression, which is always on: then short values use
// it too.
func forms(c codec.Codec) []codec.Codec {
	return []codec.Codec{c, codec.Snappy(c, -1), codec.Deflate(c, -1)}
}

func all() []codec.Codec {
	var out []codec.Codec
	for _, c := range []codec.Codec{codec.JSON, codec.CBOR, codec.Raw} {
		out = append(out, forms(c)...)
	}
	return out
}

func mustMarshal(tb testing.TB, c codec.Codec, v any) []byte {
	tb.Helper()
	data, err := c.Marshal(v)
	if err != nil {
		tb.Fatalf("%s: Marshal = %v", c.ID(), err)
	}
	return data
}

// wantError checks the sentinel and the package's name, and that no part of a payload shows.
func wantError(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error = %v, want %v", err, want)
	}
	if text := err.Error(); !strings.HasPrefix(text, "codec: ") || strings.Contains(text, secret) {
		t.Errorf("error = %q, want it to start with the package and to hold no payload", text)
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok && !errors.Is(want, codec.ErrCorrupt) {
		t.Errorf("error = %v holds a syntax error", err)
	}
}

const secret = "s3cret"

// allocated returns the bytes that f allocates. It takes the least of three tries, because filled
// pools and other goroutines must not count.
func allocated(f func()) uint64 {
	least := ^uint64(0)
	for range 3 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	return least
}
