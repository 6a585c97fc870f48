package otter_test

import (
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/otter"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var config = localtest.Config{
	New:      func(maxBytes int64) localtest.Tier { return otter.New(otter.Config{MaxBytes: maxBytes}) },
	Overhead: otter.Overhead,
	Above:    5,
}

func open(t testing.TB, maxBytes int64) *otter.Tier {
	t.Helper()
	return localtest.Open(t, otter.New(otter.Config{MaxBytes: maxBytes}))
}

func hashOf(i int) uint64 { return trace.Hash(uint64(i)) }

func TestConformance(t *testing.T) {
	tiertest.TestLocal(t, func(*testing.T) tier.Local { return config.New(tiertest.LocalBudget) })
}

func TestGuarantees(t *testing.T) { localtest.Test(t, config) }

func TestZeroTierHoldsNothing(t *testing.T) {
	var l otter.Tier
	if l.Set(1, "v", 1) {
		t.Error("Set = true, want false")
	}
	l.Delete(1)
	if e, ok := l.Get(1); ok {
		t.Errorf("Get = %v, true; want a miss", e)
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
}

// TestWeightLimit checks the limit of otter's 32 bits: 64 GiB, whatever MaxBytes is.
func TestWeightLimit(t *testing.T) {
	l := open(t, 1<<50)
	const largest = (1<<32-1)*16 - otter.Overhead
	for _, tc := range []struct {
		cost int64
		ok   bool
	}{{largest, true}, {largest + 1, false}, {largest + otter.Overhead + 16, false}} {
		if got := l.Set(1, "v", tc.cost); got != tc.ok {
			t.Errorf("Set of cost %d = %v, want %v", tc.cost, got, tc.ok)
		}
	}
}

// TestVisibleWhenFull checks guarantee 1 where otter alone would refuse: a tier full of entries
// that were hit more often, and a new entry as large as otter's window or larger. A Get does not
// evict either, so the entry stays until the next Set.
func TestVisibleWhenFull(t *testing.T) {
	const maxBytes = 4 << 20
	keys := trace.Hashes(trace.Zipf(1, 10_000, 1<<16))
	for _, cost := range []int64{1 << 10, 10 << 10, 100 << 10, maxBytes/5 - otter.Overhead} {
		t.Run(fmt.Sprintf("cost %d", cost), func(t *testing.T) {
			l := open(t, maxBytes)
			for i := range 1000 {
				for _, h := range keys[i*64 : (i+1)*64] {
					if _, ok := l.Get(h); !ok {
						l.Set(h, h, 1000)
					}
				}
				h := hashOf(1<<40 + i)
				if !l.Set(h, i, cost) {
					t.Fatalf("Set %d = false, want true", i)
				}
				for range 100 {
					if e, ok := l.Get(h); !ok || e != i {
						t.Fatalf("Get right after Set %d = %v, %v", i, e, ok)
					}
				}
			}
		})
	}
}

// TestDeletesAlone checks that deletions do the maintenance that a Set would do: each leaves work
// for otter, and no Set follows.
func TestDeletesAlone(t *testing.T) {
	l := open(t, 16<<20)
	localtest.Fill(l, 10_000, 1000)
	var gone int
	l.OnEvict(func(_ tier.Entry, _ int64, r tier.EvictReason) {
		if r == tier.Deleted {
			gone++
		}
	})
	for i := range 10_000 {
		l.Delete(hashOf(i))
	}
	if b, n := l.Usage(); gone != 10_000 || b != 0 || n != 0 {
		t.Errorf("%d reported, Usage() = %d, %d; want 10000 and 0, 0", gone, b, n)
	}
}
