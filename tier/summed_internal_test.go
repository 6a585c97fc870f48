package tier

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"time"
)

// sumAt returns where the checksum of a value frame is, or -1 if the frame has none.
func sumAt(b []byte) int {
	if len(b) <= offTags || Kind(b[0]) != KindValue {
		return -1
	}
	hashes, tags := int(b[offTags]), offMore
	if hashes == longMark {
		if hashes, tags = moreTags(b), offMore+moreSize; hashes < 0 {
			return -1
		}
	}
	id := tags + 8*hashes + tailSize
	if len(b) < id || len(b) < id+int(b[id-1])+4 {
		return -1
	}
	return id + int(b[id-1])
}

// FuzzSummedCell is FuzzParseCell behind the checksum: frames that damage could not make, and
// another program could.
func FuzzSummedCell(f *testing.F) {
	for _, c := range []Cell{
		{Codec: "json", Payload: []byte("1")},
		{Codec: "json", Tags: []uint64{1, 2}, PartKeys: []uint64{3, 4}, PartPrefixes: []uint64{5}},
		{Codec: "raw", PartKeys: []uint64{math.MaxUint64}, Flags: FlagNegative},
		{Codec: "raw", Tags: make([]uint64, MaxTags), PartKeys: make([]uint64, MaxParts)},
		{Codec: "raw", Flags: FlagOwnStale, Stale: time.Second, Keep: math.MaxInt64},
	} {
		c.Kind, c.Nonce = KindValue, NewNonce()
		b, err := c.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if at := sumAt(b); at >= 0 {
			b = bytes.Clone(b)
			binary.BigEndian.PutUint32(b[at:], checksum(b[:at], b[at+4:]))
		}
		c, err := ParseCell(b)
		switch {
		case err != nil && !errors.Is(err, ErrCell):
			t.Fatalf("ParseCell: %v", err)
		case err != nil || c.Kind != KindValue || c.Codec == "" || len(c.Codec) > maxCodecID:
			return
		case len(c.PartKeys) == 0 && len(c.PartPrefixes) > 0 || len(c.Tags) > MaxTags || len(c.PartKeys)+len(c.PartPrefixes) > MaxParts:
			t.Fatalf("ParseCell = %d tags, %d keys, %d prefixes", len(c.Tags), len(c.PartKeys), len(c.PartPrefixes))
		}
		again, err := c.Encode()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("Encode of what was read = %x, %v; want %x", again, err, b)
		}
	})
}
