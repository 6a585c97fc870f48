package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/codec"
)

// otherPackages is a codec without the methods that only this package has.
type otherPackages struct{ codec.Codec }

// UnmarshalWithin reads what MarshalWithin writes under the same limit, and refuses what it refuses.
// The limit applies to the bytes before compression.
func TestWithin(t *testing.T) {
	codecs := []codec.Codec{codec.Lossy(codec.JSON), otherPackages{codec.Raw}}
	for _, c := range all() {
		codecs = append(codecs, c, codec.Limit(c, 0))
	}
	value := strings.Repeat("x", 10_000)
	for _, c := range codecs {
		plain := len(value)
		switch format, _, _ := strings.Cut(c.ID(), "+"); format {
		case "json":
			plain += 2
		case "cbor":
			plain += 3
		}
		data := mustMarshal(t, c, value)
		if n := codec.PlainLen(c, data); n != plain {
			t.Errorf("%s: PlainLen = %d, want %d", c.ID(), n, plain)
		}
		for _, limit := range []int{plain, plain - 1} {
			fits := limit == plain
			written, err := codec.MarshalWithin(c, value, limit)
			if fits != (err == nil) || fits && !bytes.Equal(written, data) || !fits && !errors.Is(err, codec.ErrTooLarge) {
				t.Errorf("%s: MarshalWithin %d = %d bytes, %v", c.ID(), limit, len(written), err)
			}
			for _, owned := range []bool{false, true} {
				var got string
				err = codec.UnmarshalWithin(c, data, &got, limit, owned)
				if fits != (err == nil) || fits && got != value || !fits && !errors.Is(err, codec.ErrTooLarge) {
					t.Errorf("%s: UnmarshalWithin %d = %d bytes, %v", c.ID(), limit, len(got), err)
				}
			}
		}
	}
}

// A stricter limit of the codec itself holds, too.
func TestWithinKeepsLimit(t *testing.T) {
	for _, c := range all() {
		var s string
		if !strings.HasPrefix(c.ID(), "raw") {
			continue
		}
		data := mustMarshal(t, c, "0123456789")
		if _, err := codec.MarshalWithin(codec.Limit(c, 9), "0123456789", 100); !errors.Is(err, codec.ErrTooLarge) {
			t.Errorf("%s: MarshalWithin = %v", c.ID(), err)
		}
		if err := codec.UnmarshalWithin(codec.Limit(c, 9), data, &s, 100, true); !errors.Is(err, codec.ErrTooLarge) {
			t.Errorf("%s: UnmarshalWithin = %v", c.ID(), err)
		}
	}
}

// The tag byte of a compressed codec counts for the codec that compresses it again.
func TestWithinTwice(t *testing.T) {
	c := codec.Snappy(codec.Deflate(codec.Raw, 0), 0)
	_, err := codec.MarshalWithin(c, "abc", 3)
	var s string
	if got := codec.UnmarshalWithin(c, mustMarshal(t, c, "abc"), &s, 3, false); (got == nil) != (err == nil) {
		t.Errorf("MarshalWithin = %v, UnmarshalWithin = %v", err, got)
	}
}

// For any bytes, a limit refuses them or changes nothing.
func FuzzUnmarshalWithin(f *testing.F) {
	for _, c := range all() {
		seedValues(f, c)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, c := range all() {
			if n := codec.PlainLen(c, data); n < 0 || n > max(len(data), codec.MaxDecoded) {
				t.Errorf("%s: PlainLen = %d", c.ID(), n)
			}
			for _, limit := range []int{1, 16, 1 << 20} {
				for _, into := range []func() any{func() any { return new(any) }, func() any { return new([]shape) }, func() any { return new(map[string][]record) }} {
					within, without := into(), into()
					err, want := codec.UnmarshalWithin(c, data, within, limit, false), c.Unmarshal(data, without)
					switch {
					case errors.Is(err, codec.ErrTooLarge):
					case (err == nil) != (want == nil):
						t.Errorf("%s: within %d: %v, without: %v", c.ID(), limit, err, want)
					case err == nil && fmt.Sprint(within) != fmt.Sprint(without) && !strings.Contains(fmt.Sprint(within), "0x"):
						t.Errorf("%s: within %d: %v, without: %v", c.ID(), limit, within, without)
					}
				}
			}
		}
	})
}
