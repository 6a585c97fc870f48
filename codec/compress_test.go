package codec_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/golang/snappy"

	"github.com/twofold-go/twofold/codec"
)

var compressions = []struct {
	name string
	of   func(codec.Codec, int) codec.Codec
}{{"snappy", codec.Snappy}, {"deflate", codec.Deflate}}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(7, uint64(n)))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestCompressionChoice(t *testing.T) {
	text := []byte(strings.Repeat("all work and no play ", 1000))
	tests := []struct {
		name  string
		min   int
		value []byte
		tag   byte
	}{
		{"below the default", 0, text[:codec.DefaultMinSize-1], 0},
		{"at the default", 0, text[:codec.DefaultMinSize], 1},
		{"below its own", 100, text[:99], 0},
		{"at its own", 100, text[:100], 1},
		{"always", -1, text[:60], 1},
		{"always, but nothing to gain", -1, text[:5], 0},
		{"empty", -1, nil, 0},
		{"incompressible", 0, noise(1 << 16), 0},
	}
	for _, c := range compressions {
		for _, tt := range tests {
			t.Run(c.name+"/"+tt.name, func(t *testing.T) {
				cc := c.of(codec.Raw, tt.min)
				data := mustMarshal(t, cc, tt.value)
				if data[0] != tt.tag {
					t.Errorf("tag = %d, want %d", data[0], tt.tag)
				}
				if len(data) > len(tt.value)+1 || (tt.tag == 1 && len(data) > len(tt.value)) {
					t.Errorf("%d bytes became %d", len(tt.value), len(data))
				}
				// A reader with other settings can read it.
				var got []byte
				if err := c.of(codec.Raw, 1<<30).Unmarshal(data, &got); err != nil || !bytes.Equal(got, tt.value) {
					t.Errorf("Unmarshal = %d bytes, %v, want %d", len(got), err, len(tt.value))
				}
			})
		}
	}
}

func TestCompressionStacks(t *testing.T) {
	c := codec.Snappy(codec.Deflate(codec.JSON, -1), -1)
	if c.ID() != "json+deflate+snappy" {
		t.Errorf("ID = %q", c.ID())
	}
	var got string
	if err := c.Unmarshal(mustMarshal(t, c, strings.Repeat("x", 1000)), &got); err != nil || len(got) != 1000 {
		t.Errorf("Unmarshal = %d bytes, %v", len(got), err)
	}
}

// announce builds a compressed value with a header of size bytes.
func announce(size uint64, body ...byte) []byte {
	return append(binary.AppendUvarint([]byte{1}, size), body...)
}

func TestCompressedRefuses(t *testing.T) {
	text := strings.Repeat("all work and no play ", 100)
	good := map[string][]byte{
		"snappy":  mustMarshal(t, codec.Snappy(codec.Raw, -1), text),
		"deflate": mustMarshal(t, codec.Deflate(codec.Raw, -1), text),
	}
	const head = 3 // the tag and a size of two bytes
	for _, c := range compressions {
		data := good[c.name]
		tests := []struct {
			name string
			data []byte
			want error
		}{
			{"empty", nil, codec.ErrCorrupt},
			{"tag alone", []byte{1}, codec.ErrCorrupt},
			{"unknown tag", append([]byte{2}, data[1:]...), codec.ErrCorrupt},
			{"size without end", bytes.Repeat([]byte{0xff}, 20), codec.ErrCorrupt},
			{"open size", append([]byte{1}, bytes.Repeat([]byte{0xff}, 20)...), codec.ErrCorrupt},
			{"truncated", data[:len(data)-1], codec.ErrCorrupt},
			{"trailing data", append(bytes.Clone(data), 0), codec.ErrCorrupt},
			{"announces less", announce(uint64(len(text)-1), data[head:]...), codec.ErrCorrupt},
			{"announces more", announce(uint64(len(text)+1), data[head:]...), codec.ErrCorrupt},
			{"announces nothing", announce(0, data[head:]...), codec.ErrCorrupt},
			{"announces more than it can hold", announce(codec.MaxDecoded, data[head:]...), codec.ErrCorrupt},
			{"announces too much", announce(codec.MaxDecoded+1, data[head:]...), codec.ErrTooLarge},
			{"announces 2^64-1", announce(1<<64-1, data[head:]...), codec.ErrTooLarge},
			{"garbage", announce(100, noise(100)...), codec.ErrCorrupt},
		}
		for _, tt := range tests {
			t.Run(c.name+"/"+tt.name, func(t *testing.T) {
				var s string
				wantError(t, c.of(codec.Raw, 0).Unmarshal(tt.data, &s), tt.want)
			})
		}
	}
}

func TestLimit(t *testing.T) {
	for _, c := range forms(codec.Raw) {
		data := mustMarshal(t, c, strings.Repeat("x", 1000))
		var s string
		if err := codec.Limit(c, 1000).Unmarshal(data, &s); err != nil {
			t.Errorf("%s: at the limit: %v", c.ID(), err)
		}
		wantError(t, codec.Limit(c, 999).Unmarshal(data, &s), codec.ErrTooLarge)
		if err := codec.Limit(codec.Limit(c, 999), 0).Unmarshal(data, &s); err != nil && c.ID() != "raw" {
			t.Errorf("%s: Limit 0 = %v, want the default", c.ID(), err)
		}
		wantError(t, codec.Limit(codec.Lossy(c), 999).Unmarshal(data, &s), codec.ErrTooLarge)
		if id := codec.Limit(c, 5).ID(); id != c.ID() {
			t.Errorf("Limit changes the id from %s to %s", c.ID(), id)
		}
	}
}

// A bomb: a few kilobytes that decompress to 64 MiB. Within the limit it costs what its header
// says. Above the limit it costs nothing.
func TestBombs(t *testing.T) {
	zeros := make([]byte, codec.MaxDecoded)
	for _, c := range compressions {
		t.Run(c.name, func(t *testing.T) {
			bomb := mustMarshal(t, c.of(codec.Raw, 0), zeros)
			small := codec.Limit(c.of(codec.Raw, 0), 1<<20)
			var err error
			if n := allocated(func() { var b []byte; err = small.Unmarshal(bomb, &b) }); n > 1<<12 {
				t.Errorf("refusing %d bytes that announce 64 MiB allocates %d", len(bomb), n)
			}
			wantError(t, err, codec.ErrTooLarge)

			// The same stream with a small size in its header stops at that size.
			_, size := binary.Uvarint(bomb[1:])
			lie := announce(1<<10, bomb[1+size:]...)
			if n := allocated(func() { var b []byte; err = small.Unmarshal(lie, &b) }); n > 1<<17 {
				t.Errorf("a stream that goes on behind its announced KiB allocates %d", n)
			}
			wantError(t, err, codec.ErrCorrupt)
		})
	}
}

// Headers with a large size and no data.
func TestTinyInputsAllocateLittle(t *testing.T) {
	block := binary.AppendUvarint(nil, 1<<32-1) // a Snappy block of 4 GiB
	if n, err := snappy.DecodedLen(block); uint64(n) != 1<<32-1 || err != nil {
		t.Fatalf("DecodedLen = %d, %v", n, err)
	}
	tests := []struct {
		name  string
		codec codec.Codec
		data  []byte
	}{
		{"cbor bytes", codec.CBOR, []byte("\x5b\x7f\xff\xff\xff\xff\xff\xff\xff")},
		{"cbor text", codec.CBOR, []byte("\x7a\x7f\xff\xff\xff")},
		{"cbor array", codec.CBOR, []byte("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff")},
		{"cbor array within the limit", codec.CBOR, []byte("\x9a\x00\x0f\xff\xff\x01")},
		{"cbor nested arrays", codec.CBOR, bytes.Repeat([]byte("\x9a\x00\x0f\xff\xff"), 60)},
		{"cbor map", codec.CBOR, []byte("\xbb\x7f\xff\xff\xff\xff\xff\xff\xff")},
		{"cbor map within the limit", codec.CBOR, []byte("\xba\x00\x0f\xff\xff\x01\x01")},
		{"cbor bignum", codec.CBOR, []byte("\xc2\x5a\x7f\xff\xff\xff")},
		{"cbor tags", codec.CBOR, bytes.Repeat([]byte{0xc6}, 1000)},
		{"snappy, inner size", codec.Snappy(codec.CBOR, 0), announce(10, block...)},
		{"snappy, outer size", codec.Snappy(codec.CBOR, 0), announce(codec.MaxDecoded, block...)},
		{"deflate", codec.Deflate(codec.CBOR, 0), announce(codec.MaxDecoded, 0x4b, 0x4c)},
		{"json nesting", codec.JSON, bytes.Repeat([]byte("["), 1000)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, into := range []func() any{
				func() any { return new(any) },
				func() any { return new([]any) },
				func() any { return new([][]record) },
				func() any { return new(map[string]record) },
				func() any { return new(record) },
				func() any { return new([]byte) },
			} {
				var err error
				if n := allocated(func() { err = tt.codec.Unmarshal(tt.data, into()) }); n > 32<<10 {
					t.Errorf("%d bytes into %T allocate %d", len(tt.data), into(), n)
				}
				wantError(t, err, codec.ErrCorrupt)
			}
		})
	}
}
