package cache_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

type (
	hooks struct {
		Name   string
		OnDone func()
	}
	private struct {
		Name   string
		onDone func()
	}
	own struct{ Done func() }
)

func (own) MarshalJSON() ([]byte, error)  { return []byte("1"), nil }
func (*own) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, new(int)) }

// With a remote tier, New refuses value types that its codec cannot restore. The rules are those of
// package codec.
func TestNewRefusesWhatIsLost(t *testing.T) {
	_ = private{}.onDone
	for text, err := range map[string]error{
		"int":             newWith[int](t, codec.Limit(codec.Raw, 1<<20), true),
		"hooks.OnDone":    newWith[map[string][]*hooks](t, nil, true),
		"codec.CBOR":      newWith[map[[2]int]string](t, nil, true),
		"is an interface": newWith[[]any](t, nil, true),
		"private.onDone":  newWith[*private](t, codec.CBOR, true),
	} {
		misuse{err, codec.ErrType, []string{text, "codec.Lossy"}}.check(t)
	}
	for _, err := range []error{
		newWith[own](t, nil, true), newWith[any](t, codec.Lossy(codec.CBOR), true), newWith[hooks](t, nil, false), newWith[int](t, codec.Raw, false),
	} {
		succeeds(t, err)
	}
}

func newWith[V any](t *testing.T, c codec.Codec, remote bool) error {
	t.Helper()
	_, err := cache.New(open(t, tiersOf(remote)), cache.Config[int, V]{Namespace: "n", Codec: c})
	return err
}

// mine is a codec of the user.
type mine struct{ codec.Codec }

func (mine) ID() string { return "mine" }

// A value of 4 KiB or more is compressed when that makes it smaller. Every process knows the
// codec.
func TestLargeValuesAreCompressed(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 16<<10)
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	text := strings.Repeat("all work and no play ", 1000)
	own := []codec.Codec{mine{codec.JSON}}
	for name, tt := range map[string]struct {
		codec  codec.Codec
		codecs []codec.Codec
		value  []byte
		id     string
	}{
		"small":                  {codec.Raw, nil, []byte(text[:codec.DefaultMinSize-1]), "raw"},
		"large":                  {codec.Raw, nil, []byte(text[:codec.DefaultMinSize]), "raw+snappy"},
		"JSON":                   {codec.JSON, nil, []byte(text), "json+snappy"},
		"limited":                {codec.Limit(codec.CBOR, 1<<20), nil, []byte(text), "cbor+snappy"},
		"lossy":                  {codec.Lossy(codec.CBOR), nil, []byte(text), "cbor+snappy"},
		"noise":                  {codec.Raw, nil, noise, "raw"},
		"compressed by its own":  {codec.Deflate(codec.Raw, 0), nil, []byte(text), "raw+deflate"},
		"compressed by Snappy":   {codec.Snappy(codec.Raw, 0), nil, []byte(text), "raw+snappy"},
		"a codec of one's own":   {own[0], own, []byte(text), "mine"},
		"own, which readers can": {own[0], append(own, codec.Snappy(own[0], 0)), []byte(text), "mine+snappy"},
	} {
		bubble(t, name, func(t *testing.T) {
			mem := tiertest.NewMemory()
			cfg := cache.Config[int, []byte]{Codec: tt.codec, Load: func(context.Context, int) ([]byte, error) { return tt.value, nil }}
			writer := with(t, open(t, cache.TiersConfig{Remote: mem, Codecs: tt.codecs}), cfg)
			get(t, writer, 1)
			must(t, writer.Set(t.Context(), 2, tt.value))
			for _, key := range []string{cell1, "default:things:2"} {
				cell := cellAt(t, mem, key)
				if cell.Codec != tt.id || len(cell.Payload) > 2*len(tt.value) || strings.HasSuffix(tt.id, "+snappy") && len(cell.Payload) > len(tt.value)/2 {
					t.Errorf("%s: codec %s with %d bytes for %d, want %s", key, cell.Codec, len(cell.Payload), len(tt.value), tt.id)
				}
			}
			tiers := open(t, cache.TiersConfig{Remote: mem, Codecs: tt.codecs})
			cfg.Load = nil
			for k := range 2 {
				if got := get(t, with(t, tiers, cfg), k+1); string(got) != string(tt.value) {
					t.Errorf("another process reads %d bytes, want %d", len(got), len(tt.value))
				}
			}
		})
	}
}

func cellAt(t *testing.T, mem *tiertest.Memory, key string) tier.Cell {
	t.Helper()
	frame, err := tiercall.Get(t.Context(), mem, key)
	must(t, err)
	cell, err := tier.ParseCell(frame)
	must(t, err)
	return cell
}

// A frame may unpack to many times the largest value that may be stored. Such a frame is a counted
// miss, and the unpacked bytes take no memory.
func TestFrameIsBoundedByMaxValueBytes(t *testing.T) {
	asIs := func(c codec.Codec, _ int) codec.Codec { return c }
	for _, inner := range []codec.Codec{codec.CBOR, codec.JSON, codec.Raw} {
		for name, form := range map[string]func(codec.Codec, int) codec.Codec{"plain": asIs, "snappy": codec.Snappy, "deflate": codec.Deflate} {
			bubble(t, inner.ID()+", "+name, func(t *testing.T) {
				data, err := form(inner, -1).Marshal(strings.Repeat("x", 8<<20))
				must(t, err)
				wantBounded[string](t, form(inner, 0), data, 1<<20)
			})
		}
	}
}

// wantBounded puts a payload into a frame that is otherwise valid, and reads it.
func wantBounded[V any](t *testing.T, cd codec.Codec, payload []byte, limit int) {
	t.Helper()
	mem := tiertest.NewMemory()
	open := func() (*cache.Tiers, cache.Cache[int, V]) {
		tiers := open(t, cache.TiersConfig{Remote: mem})
		return tiers, with(t, tiers, cache.Config[int, V]{Codec: codec.Lossy(cd), Policy: patch{MaxValueBytes: new(limit)}})
	}
	_, writer := open()
	var v V
	must(t, writer.Set(t.Context(), 1, v))
	frame := rewrite(func(c *tier.Cell) { c.Payload = payload })(cellOf(t, mem, cell1))
	store(t, mem, cell1, frame, time.Minute)
	tiers, reader := open()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, ok := reader.Peek(t.Context(), 1)
	runtime.ReadMemStats(&after)
	if n := total(tiers).Cells.Corrupt; ok || n != 1 {
		t.Errorf("the value was served: %v, Cells.Corrupt = %d, want a miss and 1", ok, n)
	}
	most := 2*len(payload) + limit // the reader allocates the frame twice
	if got := int(after.TotalAlloc - before.TotalAlloc); got > most {
		t.Errorf("a frame of %d bytes takes %d bytes, want at most %d", len(payload), got, most)
	}
}
