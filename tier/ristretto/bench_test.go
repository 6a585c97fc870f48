package ristretto_test

import (
	"sync"
	"sync/atomic"
	"testing"

	engine "github.com/dgraph-io/ristretto/v2"

	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier/ristretto"
)

const residents = 100_000

// stream is a zipf 0.99 trace over the residents. Its length is a power of two.
var stream = sync.OnceValue(func() []uint64 {
	return trace.Hashes(trace.Zipf(1, residents, 1<<20))
})

// tierOf returns a tier filled to the given percentage by the residents.
func tierOf(b *testing.B, percent int64) *ristretto.Tier {
	l := open(b, residents*(entryCost+ristretto.Overhead)*100/percent)
	for i := range residents {
		l.Set(hashOf(i), i, entryCost)
	}
	return l
}

func ristrettoOf(b *testing.B) *engine.Cache[uint64, any] {
	c := newRistretto(b, 10*residents, 2*residents)
	for i := range residents {
		c.Set(hashOf(i), i, 1)
		if i%1000 == 0 {
			c.Wait() // without Wait it drops some
		}
	}
	c.Wait()
	return c
}

// BenchmarkGet is a hit among 100,000 residents. Read the ratios between its lines, at -cpu 1,2.
// Tier95 has most residents in the main part, Tier25 has all of them in the front.
func BenchmarkGet(b *testing.B) {
	plain := map[uint64]any{}
	for i := range residents {
		plain[hashOf(i)] = i
	}
	full, half, c := tierOf(b, 95), tierOf(b, 25), ristrettoOf(b)
	b.Run("Map", func(b *testing.B) { reads(b, func(h uint64) bool { _, ok := plain[h]; return ok }) })
	b.Run("Tier95", func(b *testing.B) { reads(b, func(h uint64) bool { _, ok := full.Get(h); return ok }) })
	b.Run("Tier25", func(b *testing.B) { reads(b, func(h uint64) bool { _, ok := half.Get(h); return ok }) })
	b.Run("Ristretto", func(b *testing.B) { reads(b, func(h uint64) bool { _, ok := c.Get(h); return ok }) })
}

// reads replays the stream on every P, each from its own place.
func reads(b *testing.B, get func(uint64) bool) {
	keys := stream()
	var starts, misses atomic.Int64
	b.ReportAllocs()
	b.ResetTimer() // the first benchmark builds the stream
	b.RunParallel(func(pb *testing.PB) {
		i, missed := int(starts.Add(1))<<16, int64(0)
		for pb.Next() {
			if !get(keys[i&(len(keys)-1)]) {
				missed++
			}
			i++
		}
		misses.Add(missed)
	})
	if n := misses.Load(); n > 0 {
		b.Errorf("%d of %d reads missed, want none", n, b.N)
	}
}

// BenchmarkSet is a Set of a new key into a full tier, including drains, and a Set over a
// resident key.
func BenchmarkSet(b *testing.B) {
	b.Run("TierNew", func(b *testing.B) {
		l, i := tierOf(b, 110), residents
		b.ReportAllocs()
		for b.Loop() {
			l.Set(hashOf(i), l, entryCost)
			i++
		}
	})
	b.Run("TierOver", func(b *testing.B) {
		l, i := tierOf(b, 95), 0
		b.ReportAllocs()
		for b.Loop() {
			l.Set(hashOf(i%residents), l, entryCost)
			i++
		}
	})
	b.Run("RistrettoNewWait", func(b *testing.B) {
		c, i := newRistretto(b, 10*residents, residents), 0
		b.ReportAllocs()
		for b.Loop() {
			c.Set(hashOf(i), c, 1)
			c.Wait()
			i++
		}
	})
}

// BenchmarkMixed has one Set of a new key in twenty operations, on every P.
func BenchmarkMixed(b *testing.B) {
	full, c := tierOf(b, 110), ristrettoOf(b)
	b.Run("Tier", func(b *testing.B) {
		mixed(b, func(h uint64) { full.Get(h) }, func(h uint64) { full.Set(h, full, entryCost) })
	})
	b.Run("Ristretto", func(b *testing.B) { // ristretto drops Sets under load
		mixed(b, func(h uint64) { c.Get(h) }, func(h uint64) { c.Set(h, c, 1) })
	})
}

func mixed(b *testing.B, get, set func(uint64)) {
	keys := stream()
	var starts, fresh atomic.Int64
	fresh.Store(residents)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for i := int(starts.Add(1)) << 16; pb.Next(); i++ {
			if i%20 == 0 {
				set(hashOf(int(fresh.Add(1))))
			} else {
				get(keys[i&(len(keys)-1)])
			}
		}
	})
}
