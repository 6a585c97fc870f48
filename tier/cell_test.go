package tier_test

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/tier"
)

// Offsets in the frame that tests use; see the doc of package tier.
const (
	offNonce   = 1
	offScope   = 9
	offRefresh = 25
	offFlags   = 33
	offTags    = 46
)

func example() tier.Cell {
	return tier.Cell{
		Kind: tier.KindValue, Nonce: tier.Nonce{1, 2, 3, 4, 5, 6, 7, 8},
		ScopePos: 1<<40 | 2, KeyPos: 1<<40 | 3, RefreshUntil: 1_700_000_000_000,
		Flags: tier.FlagNegative, SoftAt: 1_700_000_060_000, HardAt: 1_700_000_120_000, LoadedAt: 1_700_000_000_500,
		LoadTime: 42 * time.Millisecond, Tags: []uint64{0, 1, math.MaxUint64},
		Schema: 0xfeedface, Echo: 0xdeadbeef, Epoch: 0xfaced00d, Codec: "json+snappy", Payload: []byte("the payload"),
	}
}

func encode(t testing.TB, c tier.Cell) []byte {
	t.Helper()
	b, err := c.Encode()
	if err != nil {
		t.Fatalf("Encode = %v", err)
	}
	return b
}

func cells(t *rapid.T) tier.Cell {
	u64, i64 := rapid.Uint64(), rapid.Int64()
	flags := tier.Flags(rapid.SampledFrom([]byte{0, 1, 2, 3, 10, 251}).Draw(t, "flags"))
	spans := rapid.SampledFrom([]time.Duration{0, time.Millisecond, 24 * time.Hour, math.MaxInt64})
	if flags&tier.FlagOwnStale == 0 { // a short frame has no such fields
		spans = rapid.Just(time.Duration(0))
	}
	c := tier.Cell{
		Kind:         tier.KindValue,
		Nonce:        tier.Nonce(rapid.SliceOfN(rapid.Byte(), 8, 8).Draw(t, "nonce")),
		ScopePos:     u64.Draw(t, "scope"),
		KeyPos:       u64.Draw(t, "key"),
		RefreshUntil: i64.Draw(t, "refresh"),
		Flags:        flags,
		SoftAt:       i64.Draw(t, "soft"),
		HardAt:       i64.Draw(t, "hard"),
		LoadedAt:     i64.Draw(t, "loaded"),
		LoadTime:     time.Duration(rapid.Uint32().Draw(t, "load")) * time.Millisecond,
		Stale:        spans.Draw(t, "stale"),
		StaleIfError: spans.Draw(t, "stale if error"),
		Keep:         spans.Draw(t, "keep"),
		Tags:         rapid.SliceOfN(u64, 0, tier.MaxTags).Draw(t, "tags"),
		PartKeys:     rapid.SliceOfN(u64, 0, 100).Draw(t, "keys of parts"),
		Schema:       u64.Draw(t, "schema"),
		Echo:         u64.Draw(t, "echo"),
		Codec:        string(rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(t, "codec")),
		Payload:      rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload"),
	}
	if len(c.PartKeys) > 0 {
		c.PartPrefixes = rapid.SliceOfN(u64, 0, 5).Draw(t, "prefixes of parts")
	}
	return c
}

func TestCellRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := cells(t)
		b, err := want.Encode()
		if err != nil {
			t.Fatalf("Encode = %v", err)
		}
		got, err := tier.ParseCell(b)
		if err != nil {
			t.Fatalf("ParseCell = %v", err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("round trip (-want +got):\n%s", diff)
		}
	})
}

func TestCellOfLease(t *testing.T) {
	n := tier.NewNonce()
	got, err := tier.ParseCell(tier.LeaseCell(n))
	if err != nil {
		t.Fatalf("ParseCell = %v", err)
	}
	if diff := cmp.Diff(tier.Cell{Kind: tier.KindLease, Nonce: n}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The layout is a contract with other versions and with the scripts in Redis.
func TestCellLayout(t *testing.T) {
	b := encode(t, example())
	want := "V" + "\x01\x02\x03\x04\x05\x06\x07\x08" +
		"\x00\x00\x01\x00\x00\x00\x00\x02" + "\x00\x00\x01\x00\x00\x00\x00\x03" +
		"\x00\x00\x01\x8b\xcf\xe5\x68\x00" + "\x01" + "\x00\x00\x01\x8b\xcf\xe6\x52\x60" +
		"\x00\x00\x00\x2a" + "\x03" + strings.Repeat("\x00", 8) + strings.Repeat("\x00", 7) + "\x01" + strings.Repeat("\xff", 8) +
		"\x00\x00\x01\x8b\xcf\xe7\x3c\xc0" + "\x00\x00\x01\x8b\xcf\xe5\x69\xf4" +
		"\x00\x00\x00\x00\xfe\xed\xfa\xce" + "\x00\x00\x00\x00\xde\xad\xbe\xef" +
		"\x00\x00\x00\x00\xfa\xce\xd0\x0d" + "\x0bjson+snappy"
	if got := string(b[:min(len(b), len(want))]); got != want {
		t.Errorf("header\n%x, want\n%x", got, want)
	}
	if got := string(b[len(want)+4:]); got != "the payload" {
		t.Errorf("after the checksum is %q, want the payload", got)
	}
}

// TestCellBitFlips: a frame with a flipped bit must not be taken for the written value. Flips in
// the nonce and the refresh time are harmless, because the remote tier itself rewrites these
// fields.
func TestCellBitFlips(t *testing.T) {
	for name, want := range map[string]tier.Cell{"short": example(), "long": long()} {
		t.Run(name, func(t *testing.T) { testBitFlips(t, want) })
	}
}

func testBitFlips(t *testing.T, want tier.Cell) {
	clean := encode(t, want)
	for bit := range 8 * len(clean) {
		b := bytes.Clone(clean)
		b[bit/8] ^= 1 << (bit % 8)
		got, err := tier.ParseCell(b)
		switch at := bit / 8; {
		case at == 0:
			if err == nil && got.Kind == tier.KindValue {
				t.Errorf("bit %d, in the type: read as a value", bit)
			}
		case at >= offNonce && at < offScope:
			got.Nonce = want.Nonce
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("bit %d, in the nonce: %v, more than the nonce differs:\n%s", bit, err, diff)
			}
		case at >= offRefresh && at < offFlags:
			got.RefreshUntil = want.RefreshUntil
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("bit %d, in the refresh time: %v, more than that differs:\n%s", bit, err, diff)
			}
		default:
			if !errors.Is(err, tier.ErrCell) {
				t.Errorf("bit %d, in byte %d: ParseCell = %v, want an error", bit, at, err)
			}
		}
	}
}

func TestCellTruncated(t *testing.T) {
	clean := encode(t, example())
	for _, whole := range [][]byte{clean, encode(t, long())} {
		for n := range whole {
			if got, err := tier.ParseCell(whole[:n]); !errors.Is(err, tier.ErrCell) {
				t.Errorf("ParseCell of %d of %d bytes = %+v, %v; want an error", n, len(whole), got, err)
			}
		}
	}
	if _, err := tier.ParseCell(append(bytes.Clone(clean), 0)); !errors.Is(err, tier.ErrChecksum) {
		t.Errorf("ParseCell with a byte too many = %v, want %v", err, tier.ErrChecksum)
	}
	for _, frame := range [][]byte{nil, {}, []byte("L"), []byte("H1234567"), []byte("V12345678")} {
		if _, err := tier.ParseCell(frame); !errors.Is(err, tier.ErrTruncated) {
			t.Errorf("ParseCell(%q) = %v, want %v", frame, err, tier.ErrTruncated)
		}
	}
	if _, err := tier.ParseCell([]byte("X12345678 and more")); !errors.Is(err, tier.ErrKind) {
		t.Errorf("ParseCell of an unknown type = %v, want %v", err, tier.ErrKind)
	}
}

// A refresh claim rewrites nonce and refresh time inside Redis, where no script can compute a
// checksum.
func TestCellRefreshRewrite(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := cells(t)
		b, err := want.Encode()
		if err != nil {
			t.Fatalf("Encode = %v", err)
		}
		want.Nonce = tier.NewNonce()
		want.RefreshUntil = rapid.Int64().Draw(t, "until")
		copy(b[offNonce:], want.Nonce[:])
		for i := range 8 {
			b[offRefresh+i] = byte(want.RefreshUntil >> (56 - 8*i))
		}
		got, err := tier.ParseCell(b)
		if err != nil {
			t.Fatalf("ParseCell = %v", err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("rewritten (-want +got):\n%s", diff)
		}
	})
}

// ParseCell knows the ids of this library's codecs, so a hit allocates no string for them.
func TestCodecIDsAllocateNothing(t *testing.T) {
	for _, plain := range []codec.Codec{codec.JSON, codec.CBOR, codec.Raw} {
		for _, c := range []codec.Codec{plain, codec.Snappy(plain, 0), codec.Deflate(plain, 0)} {
			cell := example()
			cell.Codec, cell.Tags = c.ID(), nil
			frame := encode(t, cell)
			if n := testing.AllocsPerRun(10, func() {
				if got, err := tier.ParseCell(frame); err != nil || got.Codec != c.ID() {
					t.Fatalf("ParseCell: codec %q, %v", got.Codec, err)
				}
			}); n != 0 {
				t.Errorf("%s: %v allocations", c.ID(), n)
			}
		}
	}
}

func TestCellLimits(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(c *tier.Cell)
		ok     bool
	}{
		{"as many tags as may be", func(c *tier.Cell) { c.Tags = make([]uint64, tier.MaxTags) }, true},
		{"a tag too many", func(c *tier.Cell) { c.Tags = make([]uint64, tier.MaxTags+1) }, false},
		{"no codec", func(c *tier.Cell) { c.Codec = "" }, false},
		{"the longest codec id", func(c *tier.Cell) { c.Codec = strings.Repeat("x", 64) }, true},
		{"a codec id too long", func(c *tier.Cell) { c.Codec = strings.Repeat("x", 65) }, false},
		{"no payload", func(c *tier.Cell) { c.Payload = nil }, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := example()
			tc.change(&c)
			b, err := c.Encode()
			if (err == nil) != tc.ok {
				t.Fatalf("Encode = %v, want success: %v", err, tc.ok)
			}
			if _, err := tier.ParseCell(b); tc.ok && err != nil {
				t.Errorf("ParseCell = %v", err)
			}
		})
	}
}

// A short frame that claims more tags than it may have is refused, even when the bytes are there.
func TestCellTooManyTagsInFrame(t *testing.T) {
	c := example()
	c.Payload = make([]byte, 4096)
	b := encode(t, c)
	for n := 65; n <= 255; n++ {
		b[offTags] = byte(n)
		if _, err := tier.ParseCell(b); !errors.Is(err, tier.ErrCell) {
			t.Errorf("ParseCell of a frame with %d tags = %v, want an error", n, err)
		}
	}
}

func TestCellLoadTime(t *testing.T) {
	for _, tc := range []struct{ in, want time.Duration }{
		{-time.Second, 0},
		{999 * time.Microsecond, 0},
		{1500 * time.Microsecond, time.Millisecond},
		{100 * 24 * time.Hour, math.MaxUint32 * time.Millisecond},
	} {
		c := example()
		c.LoadTime = tc.in
		got, err := tier.ParseCell(encode(t, c))
		if err != nil || got.LoadTime != tc.want {
			t.Errorf("LoadTime %v reads as %v, %v; want %v", tc.in, got.LoadTime, err, tc.want)
		}
	}
}

func TestNonce(t *testing.T) {
	if !(tier.Nonce{}).IsZero() {
		t.Errorf("the zero Nonce is not zero")
	}
	seen := map[tier.Nonce]bool{}
	for range 1000 {
		n := tier.NewNonce()
		if n.IsZero() || seen[n] {
			t.Fatalf("NewNonce() = %x, zero or seen before", n)
		}
		seen[n] = true
	}
}

// FuzzParseCell: every input is a cell or an error. A cell that was read can be written again and
// reads the same.
func FuzzParseCell(f *testing.F) {
	clean := encode(f, example())
	f.Add(clean)
	f.Add(encode(f, long()))
	f.Add(clean[:60])
	f.Add(tier.LeaseCell(tier.NewNonce()))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		c, err := tier.ParseCell(b)
		if !bytes.Equal(b, before) {
			t.Fatalf("ParseCell changed its argument")
		}
		if err != nil {
			if !errors.Is(err, tier.ErrCell) || c.Kind == tier.KindValue {
				t.Fatalf("ParseCell = kind %q, %v", c.Kind, err)
			}
			return
		}
		if c.Kind != tier.KindValue || c.Codec == "" || len(c.Codec) > 64 {
			return // leases, holds, and ids that Encode refuses
		}
		again, err := c.Encode()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("Encode of what was read = %x, %v; want %x", again, err, b)
		}
	})
}

func BenchmarkParseCell(b *testing.B) {
	c := example()
	c.Payload = make([]byte, 1024)
	frame := encode(b, c)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := tier.ParseCell(frame); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	c := example()
	c.Payload = make([]byte, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
