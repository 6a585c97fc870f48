package cache_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
	cfg := thingConfig{Policy: patch{TTL: new(day), Stale: new(day), StaleIfError: new(day)}}
	remote := faulty()
	writer := (&source{}).load
	cfg.Load = writer
	get(t, with(t, open(t, cache.TiersConfig{Remote: remote}), cfg), 1)
	wall := time.Now().UnixMilli()
	cell := hostileCell(t, remote, field, ms)
	remote.Corrupt(tiertest.Replace(cell.frame))
	cfg.Load = func() cache.Loader[int, string] {
		src := &source{}
		src.loads = map[int]int{1: 100}
		return src.load
	}()
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

type hostile struct {
	tier.Cell
	frame []byte
}

// hostileCell returns the cell of key 1 with changed times.
func hostileCell(t *testing.T, remote tier.Remote, field string, ms int64) hostile {
	t.Helper()
	raw, err := remote.Get(t.Context(), cell1)
	must(t, err)
	cell, err := tier.ParseCell(raw)
	must(t, err)
	switch field {
	case "LoadedAt":
		cell.LoadedAt = ms
	case "SoftAt":
		cell.SoftAt = ms
	case "HardAt":
		cell.HardAt = ms
	default:
		cell.LoadedAt, cell.SoftAt, cell.HardAt = ms, ms, ms
	}
	frame, err := cell.Encode()
	must(t, err)
	return hostile{cell, frame}
}
