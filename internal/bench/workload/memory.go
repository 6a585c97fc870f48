package workload

import (
	"context"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
)

// Workload E fills a cache with a million entries. It measures the heap, and the work of the
// garbage collector while a program beside it allocates.

const (
	heapEntry  = "heap-B/entry"
	resident1  = "resident-pct"
	gcShare    = "gc-cpu-pct"
	gcCycle    = "gc-cycle-ms"
	gcPause    = "gc-pause-µs"
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
		Title: "E: " + memSetting + " of 64 bytes", Reference: "ristretto", Unit: heapEntry, More: []string{resident1, gcCycle, gcShare, gcPause}, Alone: true,
		Note: "The heap per entry excludes keys and values. A cycle is one full garbage collection. The share is that of the collector in the processor time of a " +
			"program that only makes garbage beside the cache; the pause is the longest in that program. freecache and bigcache allocate " +
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
	setup.Check(Fill(ctx, p, s.Loads, n, peers.Small))
	held, heap := count(ctx, p, n), heapNow()-before
	e.Book.Add(l, heapEntry, float64(heap-held*payload)/float64(max(held, 1)))
	e.Book.Add(l, resident1, 100*float64(held)/float64(n))
	e.collect(l)
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

// collect measures a complete collection, and then a program that makes garbage.
func (e *Env) collect(l report.Line) {
	start := time.Now()
	runtime.GC()
	e.Book.Add(l, gcCycle, float64(time.Since(start))/1e6)
	before := readGC()
	for end := time.Now().Add(e.ms([3]int64{400, 100, 5})); time.Now().Before(end); {
		for range 1000 {
			garbage.Store(new([256]byte))
		}
	}
	after := readGC()
	if total := after.total - before.total; total > 0 {
		e.Book.Add(l, gcShare, 100*(after.gc-before.gc)/total)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	worst := uint64(0)
	for i := before.cycles; i < m.NumGC && i < before.cycles+uint32(len(m.PauseNs)); i++ {
		worst = max(worst, m.PauseNs[i%uint32(len(m.PauseNs))])
	}
	e.Book.Add(l, gcPause, float64(worst)/1e3)
}

// garbage receives the program's garbage, so the compiler does not remove the allocation.
var garbage atomic.Pointer[[256]byte]

type gcState struct {
	gc, total float64 // processor seconds, without idle time
	cycles    uint32
}

func readGC() gcState {
	runtime.GC() // a cycle brings the numbers up to date
	s := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(s)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return gcState{s[0].Value.Float64(), s[1].Value.Float64() - s[2].Value.Float64(), m.NumGC}
}
