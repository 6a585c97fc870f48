// Package localbench compares local tiers with each other, and with caches that they could use.
package localbench

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
)

const (
	// Residents is the number of entries that the benchmarks set first.
	Residents = 100_000
	// EntryCost is the cost of each entry.
	EntryCost = 1024
)

// Contender is a tier to compare.
type Contender struct {
	Name string
	// Open returns a tier with room for capacity entries of [EntryCost].
	Open func(t testing.TB, capacity int) tier.Local
	// Extra is how many times the capacity it gets. Zero counts as one.
	Extra int
}

// stream is a zipf 0.99 trace over the residents. Its length is a power of two.
var stream = sync.OnceValue(func() []uint64 {
	return trace.Hashes(trace.Zipf(1, Residents, 1<<20))
})

var resident int

// full returns a contender that the residents fill to the given percentage.
func (c Contender) full(b *testing.B, percent int) tier.Local {
	b.Helper()
	l := c.Open(b, Residents*100/percent*max(c.Extra, 1))
	for i := range uint64(Residents) {
		l.Set(trace.Hash(i), &resident, EntryCost)
		if r, ok := l.(alone); ok && i%1000 == 999 {
			r.c.Wait() // without Wait it drops some
		}
	}
	return l
}

// Get measures a hit among the residents, on every P. Read the ratios between its lines, at
// -cpu 1,2.
func Get(b *testing.B, contenders ...Contender) {
	b.Helper()
	keys := stream()
	for _, c := range contenders {
		l := c.full(b, 95)
		b.Run(c.Name, func(b *testing.B) {
			var starts, misses atomic.Int64
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				i, missed := int(starts.Add(1))<<16, int64(0)
				for pb.Next() {
					if _, ok := l.Get(keys[i&(len(keys)-1)]); !ok {
						missed++
					}
					i++
				}
				misses.Add(missed)
			})
			if n := misses.Load(); n > 0 {
				b.Errorf("%d of %d reads missed, want none", n, b.N)
			}
		})
	}
}

// Set measures a Set of a new key into a full tier, and a Set over a resident key of the same
// cost.
func Set(b *testing.B, contenders ...Contender) {
	b.Helper()
	for _, c := range contenders {
		l, i := c.full(b, 110), uint64(Residents)
		b.Run("New/"+c.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Set(trace.Hash(i), l, EntryCost)
				i++
			}
		})
	}
	for _, c := range contenders {
		l, i := c.full(b, 95), uint64(0)
		b.Run("Over/"+c.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Set(trace.Hash(i%Residents), l, EntryCost)
				i++
			}
		})
	}
}

// Mixed measures one Set of a new key in twenty operations, on every P.
func Mixed(b *testing.B, contenders ...Contender) {
	b.Helper()
	keys := stream()
	for _, c := range contenders {
		l := c.full(b, 110)
		b.Run(c.Name, func(b *testing.B) {
			var starts atomic.Int64
			var fresh atomic.Uint64
			fresh.Store(Residents)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := int(starts.Add(1)) << 16; pb.Next(); i++ {
					if i%20 == 0 {
						l.Set(trace.Hash(fresh.Add(1)), l, EntryCost)
					} else {
						l.Get(keys[i&(len(keys)-1)])
					}
				}
			})
		})
	}
}

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

// Ristretto returns ristretto alone. Under load, and without a Wait after each Set, it drops some
// entries.
func Ristretto(wait bool) Contender {
	return Contender{Name: "ristretto alone", Open: func(t testing.TB, capacity int) tier.Local {
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
	}}
}

type plain map[uint64]tier.Entry

func (m plain) Get(hash uint64) (tier.Entry, bool) { e, ok := m[hash]; return e, ok }
func (m plain) Delete(hash uint64)                 { delete(m, hash) }
func (m plain) Close() error                       { return nil }
func (m plain) Set(hash uint64, e tier.Entry, _ int64) bool {
	m[hash] = e
	return true
}

// Map is a plain map. Only [Get] can use it, because a map does not bear writers beside readers.
var Map = Contender{Name: "map", Open: func(testing.TB, int) tier.Local { return plain{} }}
