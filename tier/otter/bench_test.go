package otter_test

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	engine "github.com/maypok86/otter/v2"

	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/otter"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// Read the ratios between the lines of one process, at -cpu 1,2.

const (
	residents = 100_000
	entryCost = 1024
)

// stream is a zipf 0.99 trace over the residents. Its length is a power of two.
var stream = sync.OnceValue(func() []uint64 {
	return trace.Hashes(trace.Zipf(1, residents, 1<<20))
})

// raw is otter alone, set up as its documentation says: bounded by a number of entries, and
// maintained by its own goroutines.
type raw struct{ c *engine.Cache[uint64, any] }

func (r raw) Get(hash uint64) (tier.Entry, bool) { return r.c.GetIfPresent(hash) }
func (r raw) Set(hash uint64, e tier.Entry, _ int64) bool {
	r.c.Set(hash, e)
	return true
}
func (r raw) Delete(hash uint64) { r.c.Invalidate(hash) }
func (r raw) Close() error       { r.c.StopAllGoroutines(); return nil }

// contenders returns tiers with room for capacity entries of entryCost.
var contenders = []struct {
	name string
	open func(b *testing.B, capacity int) tier.Local
}{
	{"otter", func(b *testing.B, capacity int) tier.Local {
		return open(b, int64(capacity)*(entryCost+otter.Overhead))
	}},
	{"local", func(b *testing.B, capacity int) tier.Local {
		l := local.New(local.Config{MaxBytes: int64(capacity) * (entryCost + local.Overhead)})
		b.Cleanup(func() { l.Close() })
		return l
	}},
	{"ristretto", func(b *testing.B, capacity int) tier.Local {
		l := ristretto.New(ristretto.Config{MaxBytes: int64(capacity) * (entryCost + ristretto.Overhead)})
		b.Cleanup(func() { l.Close() })
		return l
	}},
	{"raw", func(_ *testing.B, capacity int) tier.Local {
		return raw{engine.Must(&engine.Options[uint64, any]{MaximumSize: capacity})}
	}},
}

// full returns a contender that the residents fill to the given percentage.
func full(b *testing.B, open func(*testing.B, int) tier.Local, percent int) tier.Local {
	l := open(b, residents*100/percent)
	for i := range residents {
		l.Set(hashOf(i), &residentEntry, entryCost)
	}
	return l
}

var residentEntry int

// BenchmarkGet is a hit among 100,000 residents, on every P.
func BenchmarkGet(b *testing.B) {
	keys := stream()
	for _, c := range contenders {
		l := full(b, c.open, 95)
		b.Run(c.name, func(b *testing.B) {
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

// BenchmarkSet is a Set of a new key into a full tier, and a Set over a resident key of the same
// cost.
func BenchmarkSet(b *testing.B) {
	for _, c := range contenders {
		l, i := full(b, c.open, 110), residents
		b.Run("New/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Set(hashOf(i), l, entryCost)
				i++
			}
		})
	}
	for _, c := range contenders {
		l, i := full(b, c.open, 95), 0
		b.Run("Over/"+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.Set(hashOf(i%residents), l, entryCost)
				i++
			}
		})
	}
}

// BenchmarkMixed has one Set of a new key in twenty operations, on every P.
func BenchmarkMixed(b *testing.B) {
	keys := stream()
	for _, c := range contenders {
		l := full(b, c.open, 110)
		b.Run(c.name, func(b *testing.B) {
			var starts, fresh atomic.Int64
			fresh.Store(residents)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := int(starts.Add(1)) << 16; pb.Next(); i++ {
					if i%20 == 0 {
						l.Set(hashOf(int(fresh.Add(1))), l, entryCost)
					} else {
						l.Get(keys[i&(len(keys)-1)])
					}
				}
			})
		})
	}
}

// BenchmarkHitRatio replays a trace: a get and, on a miss, a set. One operation is a whole trace,
// so -benchtime 1x is enough. Only the metric matters.
func BenchmarkHitRatio(b *testing.B) {
	const universe, n, capacity = 100_000, 1_000_000, 10_000
	for _, s := range []struct {
		name string
		make func() []uint64
	}{
		{"Zipf", func() []uint64 { return trace.Zipf(1, universe, n) }},
		{"ZipfScan", func() []uint64 { return trace.ZipfScan(1, universe, n) }},
		{"Loop", func() []uint64 { return trace.Loop(capacity*3/2, n) }},
		{"MovingHotSet", func() []uint64 { return trace.MovingHotSet(1, 5*capacity, 10, n) }},
		{"ZipfMostlyHits", func() []uint64 { return trace.Zipf(1, capacity*10/9, n) }},
	} {
		keys := trace.Hashes(s.make())
		for _, c := range contenders {
			b.Run(s.name+"/"+c.name, func(b *testing.B) {
				hits := 0
				for b.Loop() {
					hits = replay(c.open(b, capacity), keys)
				}
				b.ReportMetric(100*float64(hits)/float64(len(keys)), "%hits")
			})
		}
	}
}

func replay(l tier.Local, keys []uint64) (hits int) {
	for _, h := range keys {
		if _, ok := l.Get(h); ok {
			hits++
		} else {
			l.Set(h, h, entryCost)
		}
	}
	return hits
}

// BenchmarkHeap measures the memory of an entry in addition to the entry itself, in a full tier
// whose entries were all replaced once. One operation is one tier.
func BenchmarkHeap(b *testing.B) {
	for _, s := range []struct {
		name     string
		capacity int
	}{{"5k", 5000}, {"10k", 10_000}, {"35k", 35_000}, {"70k", 70_000}, {"100k", 100_000}, {"500k", 500_000}} {
		for _, c := range contenders {
			b.Run(s.name+"/"+c.name, func(b *testing.B) {
				var perEntry float64
				for b.Loop() {
					before := heapNow()
					l := c.open(b, s.capacity)
					fillTwice(l, s.capacity*11/10)
					held := count(l, s.capacity*11/10)
					perEntry = float64(heapNow()-before) / float64(held)
					_ = l.Close() // frees the heap
				}
				b.ReportMetric(perEntry, "B/entry")
			})
		}
	}
}

func fillTwice(l tier.Local, n int) {
	for range 2 {
		for i := range n {
			l.Set(hashOf(i), &residentEntry, entryCost)
		}
	}
}

func count(l tier.Local, n int) (held int) {
	for i := range n {
		if _, ok := l.Get(hashOf(i)); ok {
			held++
		}
	}
	return held
}

func heapNow() int64 {
	runtime.GC()
	runtime.GC() // the first run frees what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
