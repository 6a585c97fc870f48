package bench_test

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/bench/workload"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/internal/trace"
)

const universe = 100_000

func open(tb testing.TB, s peers.Spec, o peers.Options) peers.Peer {
	tb.Helper()
	o.Prefix = redistest.Prefix()
	if s.Kind == peers.TwoTier {
		o.Redis = redistest.Start(tb).Addr()
	}
	var p peers.Peer
	if err := setup.Try(func() { p = s.Open(o) }); err != nil {
		tb.Fatalf("%s: %v", s.Name, err)
	}
	tb.Cleanup(p.Close)
	return p
}

func load(_ context.Context, id int64) (peers.Value, error) { return peers.Small(id), nil }

func TestTracesAreDeterministic(t *testing.T) {
	for name, make := range traces {
		if a, b := make(1000), make(1000); !slices.Equal(a, b) || len(a) != 1000 {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

var traces = map[string]func(n int) []uint64{
	"zipf":           func(n int) []uint64 { return trace.Zipf(1, universe, n) },
	"zipf+scan":      func(n int) []uint64 { return trace.ZipfScan(1, universe, n) },
	"loop":           func(n int) []uint64 { return trace.Loop(universe*3/20, n) },
	"moving-hot-set": func(n int) []uint64 { return trace.MovingHotSet(1, universe/2, 5, n) },
}

var sink atomic.Int64

// BenchmarkLocalHit reads resident keys, drawn by a Zipf law.
func BenchmarkLocalHit(b *testing.B) {
	keys := workload.KeyStream(universe, 1<<20)
	for _, s := range peers.All() {
		b.Run(s.Name, func(b *testing.B) {
			p := open(b, s, peers.Options{Entries: 2 * universe, Load: load})
			if err := workload.Fill(b.Context(), p, s.Loads, universe, peers.Small); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			var worker atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				i, sum := int(worker.Add(1)*7919), int64(0)
				for pb.Next() {
					if v, ok := p.Get(b.Context(), &keys[i&(1<<20-1)]); ok {
						sum += v.ID
					}
					i++
				}
				sink.Add(sum)
			})
		})
	}
}

// BenchmarkHitRatio replays traces through tables of a tenth of the universe: get, and set on a
// miss. One operation is one access. The result is the reported ratio.
func BenchmarkHitRatio(b *testing.B) {
	const room = universe / 10
	for _, shape := range slices.Sorted(maps.Keys(traces)) {
		keys := traces[shape](1 << 20)
		for _, s := range peers.All() {
			if s.Kind != peers.Table || s.Name == "map+RWMutex" { // it evicts nothing
				continue
			}
			b.Run(shape+"/"+s.Name, func(b *testing.B) {
				p := open(b, s, peers.Options{Entries: room, MaxBytes: room << 10})
				hits, n := 0, 0
				for b.Loop() {
					k := peers.Key{ID: int64(keys[n&(1<<20-1)])}
					if _, ok := p.Get(b.Context(), &k); ok {
						hits++
					} else if err := p.Set(b.Context(), &k, peers.Small(k.ID)); err != nil {
						b.Fatal(err)
					}
					n++
				}
				b.ReportMetric(100*float64(hits)/float64(n), "%hits")
			})
		}
	}
}
