package cache_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
		t.Run(name, func(t *testing.T) {
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

// A process of an older version writes with its configured codec, and reads by the codec in the
// cell. So old and new processes read each other's values.
func TestCompressionInAMixedFleet(t *testing.T) {
	mem := tiertest.NewMemory()
	text := strings.Repeat("all work and no play ", 1000)
	tiers := open(t, cache.TiersConfig{Remote: mem})
	c := with(t, tiers, cache.Config[int, string]{})
	must(t, c.Set(t.Context(), 1, text))
	cell := cellAt(t, mem, cell1)
	old, err := codec.NewSet(codec.Builtin()...) // the codecs that every version knows
	must(t, err)
	cd, ok := old.Lookup(cell.Codec)
	if !ok {
		t.Fatalf("an old process does not know codec %s", cell.Codec)
	}
	var got string
	if err := codec.UnmarshalWithin(cd, cell.Payload, &got, 1<<20, false); err != nil || got != text {
		t.Errorf("an old process reads %d bytes, %v", len(got), err)
	}
	// The old process writes large values without compression.
	cell.Codec, cell.Nonce = "json", tier.NewNonce()
	if cell.Payload, err = json.Marshal(strings.ToUpper(text)); err != nil {
		t.Fatal(err)
	}
	putCell(t, mem, cell1, cell)
	other := with(t, open(t, cache.TiersConfig{Remote: mem}), cache.Config[int, string]{})
	if got := get(t, other, 1); got != strings.ToUpper(text) {
		t.Errorf("a new process reads %d bytes of the old process's value", len(got))
	}
}

func cellAt(t *testing.T, mem *tiertest.Memory, key string) tier.Cell {
	t.Helper()
	frame, err := mem.Get(t.Context(), key)
	must(t, err)
	cell, err := tier.ParseCell(frame)
	must(t, err)
	return cell
}

func putCell(t *testing.T, mem *tiertest.Memory, key string, cell tier.Cell) {
	t.Helper()
	frame, err := cell.Encode()
	must(t, err)
	store(t, mem, key, frame, time.Minute)
}
