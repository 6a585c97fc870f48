package workload_test

import (
	"sync"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/testkit/trace"
)

const residents = 100_000

// BenchmarkTable compares tables that could find a tier's nodes. All hold the same nodes, and all
// lookups read the entry.
func BenchmarkTable(b *testing.B) {
	var own [64]localnode.Table
	var std sync.Map
	plain, fast := map[uint64]*localnode.Node{}, xsync.NewMap[uint64, *localnode.Node]()
	for i := range own {
		own[i].Reset()
	}
	for i := range uint64(residents) {
		h := trace.Hash(i)
		n := localnode.Of(h, h, 0)
		plain[h] = n
		own[localnode.Mix(h)>>58].Put(n, 0)
		std.Store(h, n)
		fast.Store(h, n)
	}
	keys := trace.Hashes(trace.Zipf(1, residents, 1<<20))
	for _, tc := range []struct {
		name string
		find func(hash uint64) *localnode.Node
	}{
		{"Plain", func(h uint64) *localnode.Node { return plain[h] }},
		{"Own", func(h uint64) *localnode.Node { return own[localnode.Mix(h)>>58].Load(h) }},
		{"Xsync", func(h uint64) *localnode.Node { n, _ := fast.Load(h); return n }},
		{"SyncMap", func(h uint64) *localnode.Node { n, _ := std.Load(h); return n.(*localnode.Node) }},
	} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if n := tc.find(keys[i&(len(keys)-1)]); n == nil || n.Entry() == nil {
					b.Fatal("a resident is missing")
				}
				i++
			}
		})
	}
}
