package bench_test

import (
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/internal/bench"
	"github.com/twofold-go/twofold/internal/trace"
)

const universe = 100_000

var names = slices.Sorted(maps.Keys(bench.Peers))

func open(tb testing.TB, name string, n int) bench.Peer {
	tb.Helper()
	p, err := bench.Peers[name](n)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	tb.Cleanup(p.Close)
	return p
}

// TestPeersKeepWhatFits holds the adapters to one contract: what was set, with
// room to spare, is found, and it is the newest.
func TestPeersKeepWhatFits(t *testing.T) {
	const n = 1000
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			p := open(t, name, 10*n)
			for _, round := range []uint64{1, 2} {
				for k := range uint64(n) {
					p.Set(trace.Hash(k), &bench.Value{Key: k * round})
					p.Settle()
				}
			}
			for k := range uint64(n) {
				if v := p.Get(trace.Hash(k)); v == nil || v.Key != 2*k {
					t.Fatalf("Get(%d) = %v, want the newer value", k, v)
				}
			}
			if v := p.Get(trace.Hash(n)); v != nil {
				t.Errorf("Get of what was never set = %v", v)
			}
		})
	}
}

func TestTracesAreDeterministic(t *testing.T) {
	for name, make := range traces {
		if a, b := make(1000), make(1000); !slices.Equal(a, b) || len(a) != 1000 {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

var traces = map[string]func(n int) []uint64{
	"zipf":           func(n int) []uint64 { return trace.Hashes(trace.Zipf(1, universe, n)) },
	"zipf+scan":      func(n int) []uint64 { return trace.Hashes(trace.ZipfScan(1, universe, n)) },
	"loop":           func(n int) []uint64 { return trace.Hashes(trace.Loop(universe*3/20, n)) },
	"moving-hot-set": func(n int) []uint64 { return trace.Hashes(trace.MovingHotSet(1, universe/2, 5, n)) },
}

var sink atomic.Uint64

// BenchmarkLocalHit finds resident keys, drawn by a zipf law.
func BenchmarkLocalHit(b *testing.B) {
	keys := trace.Hashes(trace.Zipf(1, universe, 1<<20))
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			p := open(b, name, 4*universe)
			for k := range uint64(universe) {
				p.Set(trace.Hash(k), &bench.Value{Key: k})
				if k%1000 == 0 {
					p.Settle()
				}
			}
			p.Settle()
			b.ReportAllocs()
			b.ResetTimer()
			var worker atomic.Uint64
			b.RunParallel(func(pb *testing.PB) {
				i, sum := worker.Add(1)*7919, uint64(0)
				for pb.Next() {
					if v := p.Get(keys[i&(1<<20-1)]); v != nil {
						sum += v.Key
					}
					i++
				}
				sink.Add(sum)
			})
		})
	}
}

// BenchmarkHitRatio replays traces through caches of a tenth of the universe:
// get, and set on a miss. One operation is one access; what counts is the
// reported ratio.
func BenchmarkHitRatio(b *testing.B) {
	for _, shape := range slices.Sorted(maps.Keys(traces)) {
		keys := traces[shape](1 << 20)
		for _, name := range names {
			if name == "map" { // it evicts nothing
				continue
			}
			b.Run(shape+"/"+name, func(b *testing.B) {
				p := open(b, name, universe/10)
				hits, n := 0, 0
				for b.Loop() {
					k := keys[n&(1<<20-1)]
					if p.Get(k) != nil {
						hits++
					} else {
						p.Set(k, &bench.Value{Key: k})
					}
					n++
				}
				b.ReportMetric(100*float64(hits)/float64(n), "%hits")
			})
		}
	}
}
