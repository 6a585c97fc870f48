package otter_test

import (
	"runtime"
	"testing"

	engine "github.com/maypok86/otter/v2"

	"github.com/twofold-go/twofold/internal/localbench"
	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/otter"
	"github.com/twofold-go/twofold/tier/ristretto"
)

const entryCost = localbench.EntryCost

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

// contenders are the tiers of this project, and otter alone.
var contenders = []localbench.Contender{
	{Name: "otter", Open: func(t testing.TB, capacity int) tier.Local {
		return open(t, int64(capacity)*(entryCost+otter.Overhead))
	}},
	{Name: "local", Open: func(t testing.TB, capacity int) tier.Local {
		return localtest.Open(t, local.New(local.Config{MaxBytes: int64(capacity) * (entryCost + local.Overhead)}))
	}},
	{Name: "ristretto", Open: func(t testing.TB, capacity int) tier.Local {
		return localtest.Open(t, ristretto.New(ristretto.Config{MaxBytes: int64(capacity) * (entryCost + ristretto.Overhead)}))
	}},
	{Name: "raw", Open: func(_ testing.TB, capacity int) tier.Local {
		return raw{engine.Must(&engine.Options[uint64, any]{MaximumSize: capacity})}
	}},
}

func BenchmarkGet(b *testing.B)   { localbench.Get(b, contenders...) }
func BenchmarkSet(b *testing.B)   { localbench.Set(b, contenders...) }
func BenchmarkMixed(b *testing.B) { localbench.Mixed(b, contenders...) }

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
			b.Run(s.name+"/"+c.Name, func(b *testing.B) {
				percent := 0.0
				for b.Loop() {
					percent = localbench.HitRatio(c.Open(b, capacity), keys)
				}
				b.ReportMetric(percent, "%hits")
			})
		}
	}
}

// BenchmarkHeap measures the memory of an entry in addition to the entry itself, in a full tier
// whose entries were all replaced once. One operation is one tier.
func BenchmarkHeap(b *testing.B) {
	for _, s := range []struct {
		name     string
		capacity int
	}{{"5k", 5000}, {"10k", 10_000}, {"35k", 35_000}, {"70k", 70_000}, {"100k", 100_000}, {"500k", 500_000}} {
		for _, c := range contenders {
			b.Run(s.name+"/"+c.Name, func(b *testing.B) {
				var perEntry float64
				for b.Loop() {
					before := heapNow()
					l := c.Open(b, s.capacity)
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

var residentEntry int

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
