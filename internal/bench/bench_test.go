package bench_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/bench/workload"
	"github.com/twofold-go/twofold/internal/redistest"
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
