// Package localbench measures the hit ratios of local tiers, beside those of ristretto. The times of
// hits and stores are in internal/bench, beside other caches.
package localbench

import (
	"testing"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/twofold-go/twofold/tier"
)

// EntryCost is the cost of each entry.
const EntryCost = 1024

// HitRatio replays a trace: a get and, on a miss, a set. It returns the hits in percent.
func HitRatio(l tier.Local, keys []uint64) float64 {
	hits := 0
	for _, h := range keys {
		if _, ok := l.Get(h); ok {
			hits++
		} else {
			l.Set(h, h, EntryCost)
		}
	}
	return 100 * float64(hits) / float64(len(keys))
}

// alone is ristretto without a tier around it.
type alone struct {
	c    *ristretto.Cache[uint64, any]
	wait bool // after each Set
}

func (r alone) Get(hash uint64) (tier.Entry, bool) { return r.c.Get(hash) }
func (r alone) Delete(hash uint64)                 { r.c.Del(hash) }
func (r alone) Close() error                       { r.c.Close(); return nil }
func (r alone) Set(hash uint64, e tier.Entry, _ int64) bool {
	ok := r.c.Set(hash, e, 1)
	if r.wait {
		r.c.Wait()
	}
	return ok
}

// Ristretto returns ristretto alone, with room for capacity entries. Under load, and without a Wait
// after each Set, it drops some entries.
func Ristretto(t testing.TB, capacity int, wait bool) tier.Local {
	t.Helper()
	c, err := ristretto.NewCache(&ristretto.Config[uint64, any]{
		NumCounters:        int64(10 * capacity),
		MaxCost:            int64(capacity),
		BufferItems:        64,
		IgnoreInternalCost: true,
	})
	if err != nil {
		t.Fatalf("ristretto.NewCache: %v", err)
	}
	t.Cleanup(c.Close)
	return alone{c, wait}
}
