package cache_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/testkit/tiercall"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A frame that cannot be served is a counted miss, and is overwritten.
func TestUnreadableCells(t *testing.T) {
	flip := flipBit
	for name, harm := range map[string]func([]byte) []byte{
		"flipped type":           flip(1),
		"flipped scope position": flip(8 * 9),
		"flipped flags":          flip(8 * 33),
		"flipped payload":        flipPayload,
		"truncated to its nonce": truncate(9),
		"truncated header":       truncate(40),
		"too short for a nonce":  truncate(3),
		"garbage":                func([]byte) []byte { return []byte("*3\r\n$5\r\nhello garbage") },
		"longer":                 func(b []byte) []byte { return append(b, 0) },
		"unknown codec":          rewrite(func(c *tier.Cell) { c.Codec = "nobody's" }),
		"not the codec's bytes":  rewrite(func(c *tier.Cell) { c.Payload = []byte("{") }),
		"another schema":         rewrite(func(c *tier.Cell) { c.Schema++ }),
		"another key's":          rewrite(func(c *tier.Cell) { c.Echo++ }),
	} {
		counter := "Cells.Corrupt"
		if strings.HasPrefix(name, "another") {
			counter = "Cells.Foreign"
		}
		for _, call := range []string{"gets", "many"} {
			play(t, scene{name: name + ", " + call, on: paired, harm: harm, steps: `
				a gets 1.1; cell damaged; b ` + call + ` 1.2; took 0s; b counts ` + counter + `=1; a gets 1.2 remote SkipLocal`})
		}
	}
}

// flipBit inverts a bit, whose index counts modulo the frame's length.
func flipBit(bit int) func([]byte) []byte {
	return func(frame []byte) []byte {
		if len(frame) > 0 {
			i := bit % (8 * len(frame))
			frame[i/8] ^= 1 << (i % 8)
		}
		return frame
	}
}

// truncate keeps the first n bytes.
func truncate(n int) func([]byte) []byte {
	return func(frame []byte) []byte { return frame[:min(n, len(frame))] }
}

// replaceBy returns a copy of other for every frame.
func replaceBy(other []byte) func([]byte) []byte {
	return func([]byte) []byte { return bytes.Clone(other) }
}

func flipPayload(b []byte) []byte {
	b[len(b)-2] ^= 1
	return b
}

// The stored frame is valid, but every reply is damaged, in its nonce, too. No claim over it can
// succeed, so the read goes on without the tier.
func TestEveryReplyIsDamaged(t *testing.T) {
	nonce := flipBit(8 * 3)
	for name, harm := range map[string]func([]byte) []byte{
		"nonce":             nonce,
		"payload":           flipPayload,
		"nonce and payload": func(b []byte) []byte { return flipPayload(nonce(b)) },
		"garbage":           replaceBy([]byte("HTTP/1.1 400 Bad Request")),
		"short":             truncate(5),
	} {
		play(t, scene{name: name, on: paired, harm: harm, steps: "a gets 1.1; b's remote corrupt; b gets any; took 0s-1s"})
	}
}

// ahead changes a frame as if it came from a machine whose clock is an hour ahead.
var ahead = rewrite(func(c *tier.Cell) {
	const hour = 3600 * 1000
	c.LoadedAt, c.SoftAt, c.HardAt = c.LoadedAt+hour, c.SoftAt+hour, c.HardAt+hour
})

// Clocks differ. A frame from a machine whose clock is ahead has age 0, not less. It lives no
// longer than its lifetime. MaxAge(0) does not trust it.
func TestSkewedClock(t *testing.T) {
	play(
		t,
		scene{name: "age", on: paired, harm: ahead, steps: "a gets 1.1; cell damaged; b gets 1.1 remote age=0s; wait 61s; b gets 1.1 remote"},
		scene{name: "MaxAge", on: logged, harm: ahead, steps: `
			wait 2s; a gets 1.1; cell damaged; b gets 1.2 load MaxAge=0s; a gets 1.1 local; a gets 1.2 SkipLocal`},
	)
}

// giving is codec.Raw. It records the size of each frame that it is given to keep.
type giving struct {
	codec.Codec
	given *[]int
}

func (giving) ID() string { return "giving" }

func (g giving) UnmarshalOwned(data []byte, v any) error {
	*g.given = append(*g.given, len(data))
	return codec.UnmarshalOwned(g.Codec, data, v)
}

// A codec may keep the frame, but not when most of the frame's bytes are not the value.
func TestFramesAreGivenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var given []int
		g := giving{codec.Raw, &given}
		mem, cfg := tiertest.NewMemory(), cache.Config[int, []byte]{
			Namespace: "things:v1", Codec: g,
			Load: func(_ context.Context, n int) ([]byte, error) { return make([]byte, n), nil },
		}
		for range 2 {
			c := with(t, open(t, cache.TiersConfig{Remote: mem, Codecs: []codec.Codec{g}}), cfg)
			for _, n := range []int{0, 100, 10_000} {
				if got := get(t, c, n); len(got) != n || cap(got) != n {
					t.Errorf("%d bytes came back with a capacity of %d", len(got), cap(got))
				}
			}
		}
		if !slices.Equal(given, []int{10_000}) {
			t.Errorf("the codec was given frames of %v bytes, want only the one of 10000", given)
		}
	})
}

// rewrite changes a cell and computes its checksum again.
func rewrite(change func(*tier.Cell)) func([]byte) []byte {
	return func(b []byte) []byte {
		c, err := tier.ParseCell(b)
		if err != nil {
			panic(err)
		}
		change(&c)
		if b, err = c.Encode(); err != nil {
			panic(err)
		}
		return b
	}
}

func cellOf(t *testing.T, r tier.Remote, key string) []byte {
	t.Helper()
	b, err := tiercall.Get(t.Context(), r, key)
	if err != nil || len(b) == 0 {
		t.Fatalf("no cell under %s: %v", key, err)
	}
	return b
}

// store replaces what is under key with a frame.
func store(t *testing.T, r tier.Remote, key string, frame []byte, ttl time.Duration) {
	t.Helper()
	n := tier.NewNonce()
	must(t, tiercall.Remove(t.Context(), r, key))
	if got, err := tiercall.Claim(t.Context(), r, key, tier.Claim{Nonce: n, Lease: time.Second}); !got.Granted || err != nil {
		t.Fatal("the claim was not granted", err)
	}
	if ok, err := tiercall.Fill(t.Context(), r, key, tier.Fill{Nonce: n, Cell: frame, TTL: ttl}); !ok || err != nil {
		t.Fatal("the fill was not stored", err)
	}
}

// A fleet can change its codec without emptying the remote tier.
func TestCodecChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type pair struct{ A, B string }
		mem := tiertest.NewMemory()
		n := 0
		load := func(context.Context, int) (pair, error) { n++; return pair{"a", "b"}, nil }
		for i, cd := range []codec.Codec{codec.JSON, codec.CBOR, codec.Snappy(codec.JSON, 0), codec.Deflate(codec.CBOR, 0)} {
			c := with(t, open(t, cache.TiersConfig{Remote: mem}), cache.Config[int, pair]{Load: load, Codec: cd})
			if v := get(t, c, 1); v != (pair{"a", "b"}) {
				t.Errorf("%s read %v", cd.ID(), v)
			}
			if v := get(t, c, 100+i); v != (pair{"a", "b"}) {
				t.Error(v)
			}
		}
		last := with(t, open(t, cache.TiersConfig{Remote: mem}), cache.Config[int, pair]{Load: load})
		for i := range 4 {
			if r, err := last.Fetch(t.Context(), 100+i, nil); r.Source != cache.Remote || r.Value.B != "b" || err != nil {
				t.Errorf("key %d: %+v, %v", i, r, err)
			}
		}
		if n != 5 {
			t.Errorf("%d loads, want 5", n)
		}
	})
}

// A value that cannot be encoded is kept in the local tier. No other process waits for it.
func TestUnencodableLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := tiertest.NewMemory()
		zero := 0.0
		tiers := open(t, cache.TiersConfig{Remote: mem})
		c := with(t, tiers, cache.Config[int, float64]{Load: func(context.Context, int) (float64, error) { return zero / zero, nil }})
		for range 2 {
			if v := get(t, c, 1); v == v {
				t.Errorf("Get = %v, want NaN", v)
			}
		}
		if s := total(tiers); s.Fills.Unencodable != 1 || s.Reads.LocalHits != 1 || mem.Len() != 0 {
			t.Errorf("Stats = %+v with %d cells, want one unencodable, then a local hit", s, mem.Len())
		}
	})
}

// Frames count whole milliseconds, rounded so that a value lives shorter. The load and the read
// may come at any fraction of a millisecond. No process serves the value as fresh after its TTL,
// or reports too small an age.
func TestFramesRoundDown(t *testing.T) {
	const ttl, step = 10 * time.Millisecond, 100 * time.Microsecond
	for loaded := time.Duration(0); loaded < time.Millisecond; loaded += step {
		for read := 8 * time.Millisecond; read < ttl; read += step {
			synctest.Test(t, func(t *testing.T) {
				src := &source{}
				_, cs := fleet(t, 2, faulty(), cache.TiersConfig{}, thingConfig{Load: src.load, Policy: patch{TTL: new(ttl)}})
				advance(loaded)
				get(t, cs[0], 1)
				advance(read)
				r, err := cs[1].Fetch(t.Context(), 1, nil)
				if err != nil || r.Source == cache.Remote && r.Age < read {
					t.Errorf("loaded at %v, read %v later: age %v, %v", loaded, read, r.Age, err)
				}
				if r.Source == cache.Load && read < ttl-2*time.Millisecond {
					t.Errorf("loaded at %v, read %v later: loaded again, more than 2 ms too early", loaded, read)
				}
				advance(ttl - read)
				if got, err := cs[1].Fetch(t.Context(), 1, nil); err != nil || r.Source == cache.Remote && got.Source == cache.Local {
					t.Errorf("loaded at %v, read %v later: still served after %v, %v", loaded, read, ttl, err)
				}
			})
		}
	}
}

// A cell may claim any load time and any lifetime. Still no age is negative or absurd, MaxAge
// holds, and an expired value is not served.
func TestHostileTimes(t *testing.T) {
	for _, field := range []string{"LoadedAt", "SoftAt", "HardAt", "all"} {
		for _, ms := range []int64{
			math.MinInt64, math.MinInt64 + 1, math.MinInt64 / 2, -1e18, -1e15, -9_223_372_036_855, -9_223_372_036_854, -1, 0, 1,
			9_223_372_036_854, 9_223_372_036_855, 1e15, 1e18, math.MaxInt64 / 2, math.MaxInt64 - 1, math.MaxInt64,
		} {
			bubble(t, fmt.Sprintf("%s=%d", field, ms), func(t *testing.T) { hostileTimes(t, field, ms) })
		}
	}
}

func hostileTimes(t *testing.T, field string, ms int64) {
	const day = 24 * time.Hour
	remote := faulty()
	cfg := thingConfig{Policy: patch{TTL: new(day), Stale: new(day), StaleIfError: new(day)}, Load: (&source{}).load}
	get(t, with(t, open(t, cache.TiersConfig{Remote: remote}), cfg), 1)
	wall := time.Now().UnixMilli()
	var cell tier.Cell
	remote.Corrupt(replaceBy(rewrite(func(c *tier.Cell) {
		for name, at := range map[string]*int64{"LoadedAt": &c.LoadedAt, "SoftAt": &c.SoftAt, "HardAt": &c.HardAt} {
			if field == name || field == "all" {
				*at = ms
			}
		}
		cell = *c
	})(cellOf(t, remote, cell1))))
	// truth is the value's age in milliseconds by its cell. A difference that overflows counts
	// as the longest duration.
	truth := max(wall-cell.LoadedAt, 0)
	if longest := int64(math.MaxInt64 / time.Millisecond); cell.LoadedAt < wall-longest {
		truth = longest
	}
	atLeast := min(truth, int64(100*365*day/time.Millisecond))
	old := truth > int64(time.Hour/time.Millisecond)
	begun := time.Now()
	for _, maxAge := range []bool{true, false} {
		c := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
		var opts []cache.Option
		if maxAge {
			opts = append(opts, cache.MaxAge(time.Hour))
		}
		for i := range 2 { // the second read may be a local hit
			r, err := c.Fetch(t.Context(), 1, nil, opts...)
			if err != nil {
				t.Fatalf("Fetch %d, MaxAge %v: %v", i, maxAge, err)
			}
			mine := r.Value == "1.1" // the cell's value
			if r.Age < 0 || !mine && r.Age > 0 || int64(r.Age/time.Millisecond) > truth+1 {
				t.Errorf("Fetch %d, MaxAge %v: age %v, want at most %d ms", i, maxAge, r.Age, truth+1)
			}
			if mine && int64(r.Age/time.Millisecond) < atLeast-1 {
				t.Errorf("Fetch %d, MaxAge %v: age %v, want at least %d ms", i, maxAge, r.Age, atLeast-1)
			}
			if mine && maxAge && old {
				t.Errorf("Fetch %d with a MaxAge of 1h returns a value that is %d ms old", i, truth)
			}
			if mine && cell.HardAt <= wall {
				t.Errorf("Fetch %d, MaxAge %v: a value that expired at %d", i, maxAge, cell.HardAt)
			}
			if mine && !r.Stale && cell.SoftAt <= wall {
				t.Errorf("Fetch %d, MaxAge %v: fresh, although the TTL ended at %d", i, maxAge, cell.SoftAt)
			}
		}
	}
	if took, most := time.Since(begun), 2*policy.Default().LoadTimeout; took > most {
		t.Errorf("the reads took %v, want at most LoadTimeout for each cache: %v", took, most)
	}
}
