package codec_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/twofold-go/twofold/codec"
)

// decodeAll decodes data in every way, and returns the values. It fails on an error of another
// package.
func decodeAll(t *testing.T, c codec.Codec, data []byte) {
	kept := bytes.Clone(data)
	for _, into := range []any{new(any), new(record), new([]record), new(map[string][]byte), new(string), new([]byte), new(onlyJSON), new(onlyText)} {
		err := c.Unmarshal(data, into)
		switch {
		case err == nil:
			if _, again := c.Marshal(into); again != nil && !errors.Is(again, codec.ErrValue) && !errors.Is(again, codec.ErrType) {
				t.Errorf("%s: %T decoded and does not encode: %v", c.ID(), into, again)
			}
		case !errors.Is(err, codec.ErrCorrupt) && !errors.Is(err, codec.ErrTooLarge) && !errors.Is(err, codec.ErrType):
			t.Errorf("%s: %T: error %v is none of the package's", c.ID(), into, err)
		}
	}
	if !bytes.Equal(kept, data) {
		t.Errorf("%s changed its input", c.ID())
	}
}

func seedValues(f *testing.F, c codec.Codec) {
	for _, v := range []any{"text", []byte("bytes"), record{ID: 1, Tags: []string{"a"}}, []any{1, nil, "x"}, map[string]int{"a": 1}} {
		if data, err := c.Marshal(v); err == nil {
			f.Add(data)
			f.Add(data[:len(data)/2])
		}
	}
}

func FuzzUnmarshalJSON(f *testing.F) {
	seedValues(f, codec.JSON)
	f.Add([]byte(`[[[[`))
	f.Add([]byte(`"\ud800"`))
	f.Fuzz(func(t *testing.T, data []byte) { decodeAll(t, codec.JSON, data) })
}

func FuzzUnmarshalCBOR(f *testing.F) {
	seedValues(f, codec.CBOR)
	f.Add([]byte("\x9b\x7f\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte("\xa2\x61A\x01\x61A\x02"))
	f.Add([]byte("\xc0\x74" + "2024-01-01T00:00:00Z"))
	f.Add([]byte("\xc2\x49\x01\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) { decodeAll(t, codec.CBOR, data) })
}

func FuzzUnmarshalCompressed(f *testing.F) {
	for _, c := range all() {
		seedValues(f, c)
	}
	f.Add(announce(1<<20, 0x4b, 0x4c))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range compressions {
			decodeAll(t, codec.Limit(c.of(codec.Raw, -1), 1<<20), data)
			decodeAll(t, codec.Limit(c.of(codec.CBOR, -1), 1<<20), data)
		}
	})
}

// Compression preserves any bytes.
func FuzzCompressed(f *testing.F) {
	f.Add([]byte(""))
	f.Add(bytes.Repeat([]byte("abc"), 100))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range compressions {
			var got []byte
			cc := c.of(codec.Raw, -1)
			if err := cc.Unmarshal(mustMarshal(t, cc, data), &got); err != nil || !bytes.Equal(got, data) {
				t.Errorf("%s: %d bytes came back as %d, %v", c.name, len(data), len(got), err)
			}
		}
	})
}

// Every single-bit flip and every truncation of real values gives an error or another value,
// never a panic.
func TestDamageNeverPanics(t *testing.T) {
	value := record{ID: 7, Name: "a name that repeats a name that repeats", Tags: []string{"x", "y"}, Blob: bytes.Repeat([]byte{1}, 40)}
	for _, c := range all() {
		t.Run(c.ID(), func(t *testing.T) {
			v := any(value)
			if bytes.HasPrefix([]byte(c.ID()), []byte("raw")) {
				v = bytes.Repeat([]byte("payload "), 20)
			}
			data := mustMarshal(t, c, v)
			for i := range data {
				decodeAll(t, c, data[:i])
				for bit := range 8 {
					data[i] ^= 1 << bit
					decodeAll(t, c, data)
					data[i] ^= 1 << bit
				}
			}
		})
	}
}
