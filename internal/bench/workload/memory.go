package workload

import (
	"context"
	"runtime"
	"time"
	"unsafe"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// Workload E fills a cache with a million entries. It measures the heap, and the time of
// a garbage collection.

const (
	heapEntry  = "heap-B/entry"
	resident1  = "resident-pct"
	gcCycle    = "gc-cycle-ms"
	memSetting = "1,000,000 entries"
)

// memoryPeers hold the struct itself, except for the caches of bytes, whose memory the collector
// does not scan.
var memoryPeers = []string{"twofold", overRistretto, "map+RWMutex", "ristretto", "otter", "theine", "golang-lru", "freecache", "bigcache"}

func (e *Env) memory() {
	n := by(e, 1_000_000, 100_000, 5000)
	var cs []contender
	for _, name := range memoryPeers {
		s := setup.Must(peers.ByName(name))
		cs = append(cs, contender{name: name, sample: func(l report.Line) { e.weigh(s, n, l) }})
	}
	e.compare(&scenario{id: "E", setting: memSetting, tables: []report.Comparison{{
		Title: "E: entries of 64 bytes", Reference: "ristretto", Unit: heapEntry, More: []string{resident1, gcCycle},
		Note: "The heap per entry excludes keys and values. A cycle is one full garbage collection. freecache and bigcache allocate " +
			"160 bytes per entry at the start, so their figure shows that.",
	}}}, cs)
}

// payload is the size of a key and a value without their strings, which are shared.
const payload = int64(unsafe.Sizeof(peers.Value{}) + unsafe.Sizeof(int64(0)))

// weigh fills one cache and takes its samples.
func (e *Env) weigh(s peers.Spec, n int, l report.Line) {
	ctx, before := e.ctx, heapNow()
	o := peers.Options{Entries: n * 5 / 4, Load: loadSmall}
	switch s.Name {
	case "freecache", "bigcache":
		o.MaxBytes = int64(n) * 160 // about 70 bytes of key and encoded value, and the cache's own
	case "twofold", overRistretto:
		o.MaxBytes = int64(n) * 1024
	}
	p := s.Open(o)
	defer p.Close()
	setup.Check(fill(ctx, p, s.Loads, n, peers.Small))
	held, heap := count(ctx, p, n), heapNow()-before
	e.Book.Add(l, heapEntry, float64(heap-held*payload)/float64(max(held, 1)))
	e.Book.Add(l, resident1, 100*float64(held)/float64(n))
	start := time.Now()
	runtime.GC()
	e.Book.Add(l, gcCycle, float64(time.Since(start))/1e6)
	runtime.KeepAlive(p)
}

// count returns how many keys a peer holds, without changing them.
func count(ctx context.Context, p peers.Peer, n int) (held int64) {
	if ours, ok := p.(*peers.TwofoldPeer); ok { // its Get would load missing keys
		return ours.Tiers.Stats().Local.Entries
	}
	for id := range int64(n) {
		k := peers.KeyOf(id)
		if _, ok := p.Get(ctx, &k); ok {
			held++
		}
	}
	return held
}

// heapNow returns the live heap after a collection. It collects twice, because the first one runs
// the finalizers, and the second frees what they held.
func heapNow() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
