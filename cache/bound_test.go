package cache_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// wide is a large struct that some codecs can encode in one byte.
type wide struct{ A, B, C, D, E, F, G, H, I, J, K, L, M, N, O, P int64 }

// bomb returns n empty elements in the encoding of inner.
func bomb(inner codec.Codec, n int, element string) []byte {
	switch inner.ID() {
	case "cbor":
		b := binary.BigEndian.AppendUint32([]byte{0x9a}, uint32(n))
		return append(b, bytes.Repeat([]byte{map[string]byte{"null": 0xf6, "{}": 0xa0}[element]}, n)...)
	case "json":
		b := bytes.Repeat([]byte(element+","), n)
		b[len(b)-1] = ']'
		return append([]byte{'['}, b...)
	}
	return make([]byte, 40*n)
}

// squeeze returns what a codec would store if its inner codec had written these bytes.
func squeeze(t *testing.T, form func(codec.Codec, int) codec.Codec, inner []byte) []byte {
	t.Helper()
	b, err := form(codec.Raw, -1).Marshal(inner)
	must(t, err)
	return b
}

// A frame may decode to many times the largest value that may be stored. Such a frame is a
// counted miss, and takes no more memory than a value of the largest size.
func TestFrameIsBoundedByMaxValueBytes(t *testing.T) {
	const limit = 1 << 20
	asIs := func(c codec.Codec, _ int) codec.Codec { return c }
	for _, inner := range []codec.Codec{codec.CBOR, codec.JSON, codec.Raw} {
		for name, form := range map[string]func(codec.Codec, int) codec.Codec{"plain": asIs, "snappy": codec.Snappy, "deflate": codec.Deflate} {
			for _, element := range []string{"null", "{}"} {
				for _, n := range []int{20_000, 1_000_000} {
					t.Run(fmt.Sprintf("%s, %s, %d of %s", inner.ID(), name, n, element), func(t *testing.T) {
						data := squeeze(t, form, bomb(inner, n, element))
						if inner == codec.Raw {
							wantBounded[[]byte](t, form(inner, 0), data, limit)
						} else {
							wantBounded[[]wide](t, form(inner, 0), data, limit)
							wantBounded[any](t, form(inner, 0), data, limit)
							wantBounded[map[string]*[]wide](t, form(inner, 0), data, limit)
						}
					})
				}
			}
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
	if n := total(tiers).CellsCorrupt; !ok && n != 1 {
		t.Errorf("CellsCorrupt = %d after a miss, want 1", n)
	}
	// The reader allocates the frame twice, the unpacked bytes, and the elements. A decoder that
	// grows its slice allocates the elements up to four times.
	most := 2*len(payload) + limit
	if ok {
		most += 4 * codec.Expansion * limit
	}
	if got := int(after.TotalAlloc - before.TotalAlloc); got > most+limit {
		t.Errorf("%T from a frame of %d bytes takes %d bytes (served: %v), want at most %d", v, len(payload), got, ok, most+limit)
	}
}
