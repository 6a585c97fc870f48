package workload

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/trace"
)

// Workload A reads resident keys drawn by a Zipf law, alone and with one write in twenty
// operations, on one goroutine and on as many as there are processors.

const (
	smallValue = "small"
	largeValue = "1 KiB"
	readerNs   = "reader-ns/op"
	missedPct  = "missed-pct"
)

// hitSetting names the columns of workload A.
func hitSetting(value string, goroutines, writes int) string {
	s := fmt.Sprintf("%s, %d goroutine", value, goroutines)
	if goroutines > 1 {
		s += "s"
	}
	if writes > 0 {
		s += fmt.Sprintf(", %d %% writes", writes)
	}
	return s
}

func hitLine(value string, goroutines, writes int, who string) report.Line {
	return report.Line{Workload: "A", Setting: hitSetting(value, goroutines, writes), Contender: who}
}

// valuesOf are the kinds of values, in order.
var valuesOf = []struct {
	name string
	of   func(int64) peers.Value
}{{smallValue, peers.Small}, {largeValue, peers.Large}}

func runLocalHits(ctx context.Context, e *Env) error {
	for _, kind := range valuesOf {
		if err := e.localHits(ctx, kind.name, kind.of); err != nil {
			return err
		}
		if err := e.drop(ctx); err != nil {
			return err
		}
	}
	if err := e.hitKinds(ctx); err != nil {
		return err
	}
	if err := e.hitStates(ctx); err != nil {
		return err
	}
	return e.misses(ctx)
}

// resident is a peer that holds every key.
type resident struct {
	name string
	peers.Peer
	loads *atomic.Int64
}

// localHits measures every peer with values of one kind.
func (e *Env) localHits(ctx context.Context, value string, of func(int64) peers.Value) error {
	n := by(e, 100_000, 20_000, 2000)
	stream := KeyStream(n, by(e, 1<<20, 1<<18, 1<<14))
	all, err := e.residents(ctx, n, of)
	defer closeAll(all)
	if err != nil {
		return err
	}
	for _, writes := range []int{0, 5} {
		for _, g := range e.goroutines() {
			var cs []measure.Contender
			for _, p := range all {
				cs = append(cs, measure.Contender{Name: p.name, Measure: func(ctx context.Context) error {
					return e.hits(ctx, hitLine(value, g, writes, p.name), p, stream, writes, g, of)
				}})
			}
			if err := measure.Rounds(ctx, e.Rounds, cs); err != nil {
				return err
			}
		}
	}
	return nil
}

// goroutines returns the numbers of goroutines for the measurement of hits.
func (*Env) goroutines() []int {
	if p := runtime.GOMAXPROCS(0); p > 1 {
		return []int{1, p}
	}
	return []int{1}
}

// KeyStream returns a Zipf trace over n keys, always with the same seed. The keys of one id share
// their text.
func KeyStream(n, length int) []peers.Key {
	table := make([]peers.Key, n)
	for i := range table {
		table[i] = peers.KeyOf(int64(i))
	}
	stream := make([]peers.Key, length)
	for i, k := range trace.Zipf(1, n, length) {
		stream[i] = table[k]
	}
	return stream
}

// residents opens every peer and fills it. The caller must close the returned peers, even after an
// error.
func (e *Env) residents(ctx context.Context, n int, of func(int64) peers.Value) ([]resident, error) {
	var all []resident
	for _, s := range peers.All() {
		loads := new(atomic.Int64)
		load := func(_ context.Context, id int64) (peers.Value, error) {
			loads.Add(1)
			return of(id), nil
		}
		// A TinyLFU has a window that evicts early, so it gets spare room.
		p, err := s.Open(e.options(s.Name, 2*n, load))
		if err != nil {
			return all, err
		}
		all = append(all, resident{s.Name, p, loads})
		if err := Fill(ctx, p, s.Loads, n, of); err != nil {
			return all, fmt.Errorf("filling %s: %w", s.Name, err)
		}
	}
	return all, nil
}

func closeAll(all []resident) {
	for _, p := range all {
		p.Close()
	}
}

// Fill makes a peer hold the keys below n. Loading peers load them. Other peers get them by Set and
// then a read, so that a peer that reads from elsewhere has a local copy. Fill uses many
// goroutines, because some of the work goes to a server.
func Fill(ctx context.Context, p peers.Peer, loads bool, n int, of func(int64) peers.Value) error {
	const fillers = 16
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for g := range fillers {
		wg.Go(func() {
			for id := g; id < n && failed.Load() == nil && ctx.Err() == nil; id += fillers {
				k := peers.KeyOf(int64(id))
				if !loads {
					if err := p.Set(ctx, &k, of(k.ID)); err != nil {
						failed.Store(&err)
						return
					}
				}
				if id/fillers%64 == 0 {
					p.Settle() // a full write queue loses writes
				}
				p.Get(ctx, &k)
			}
		})
	}
	wg.Wait()
	p.Settle()
	if err := failed.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

// block is the number of operations that are timed together. With writes, these come at the end of
// the block, and the reads are timed separately.
const block = 200

// hits takes one sample.
func (e *Env) hits(ctx context.Context, l report.Line, p resident, stream []peers.Key, writes, goroutines int, of func(int64) peers.Value) error {
	readers, loaded := make([]*reader, goroutines), p.loads.Load()
	r := measure.Run(ctx, measure.Config{Goroutines: goroutines, Warm: e.ms(30, 10, 1), For: e.ms(100, 40, 4)}, func(g int) func(int) {
		readers[g] = &reader{p: p, stream: stream, writes: block * writes / 100, of: of}
		return readers[g].block(ctx)
	})
	var reads, took int64
	missed := p.loads.Load() - loaded // loading peers miss nothing, but their loads count here
	for _, one := range readers {
		reads, missed, took = reads+one.reads, missed+one.missed, took+one.took
		if one.err != nil {
			return one.err
		}
	}
	r.Ops *= block
	r.Allocs /= block
	r.Bytes /= block
	e.add(l, r)
	e.Book.Add(l, readerNs, float64(took)/float64(reads)/float64(goroutines))
	e.Book.Add(l, missedPct, 100*float64(missed)/float64(reads))
	return nil
}

// reader is one goroutine that reads, and writes a little.
type reader struct {
	p      peers.Peer
	stream []peers.Key
	writes int // of a block
	of     func(int64) peers.Value

	reads, missed, took int64
	err                 error
	_                   [64]byte // keeps readers on different cache lines
}

// block returns an operation that runs a block of reads and writes.
func (r *reader) block(ctx context.Context) func(int) {
	mask, n := len(r.stream)-1, block-r.writes
	return func(i int) {
		at, missed := i*block, int64(0)
		start := time.Now()
		for j := range n {
			k := &r.stream[(at+j)&mask]
			if v, ok := r.p.Get(ctx, k); !ok || v.ID != k.ID {
				missed++
			}
		}
		r.took += int64(time.Since(start))
		r.reads += int64(n)
		r.missed += missed
		for j := n; j < block; j++ {
			k := &r.stream[(at+j)&mask]
			if err := r.p.Set(ctx, k, r.of(k.ID)); err != nil {
				r.err = err
			}
		}
	}
}

func localHitTables(e *Env) []report.Table {
	var names []string
	for _, s := range peers.All() {
		names = append(names, s.Name)
	}
	var out []report.Table
	for _, kind := range valuesOf {
		var reads, writes []string
		for _, g := range e.goroutines() {
			reads = append(reads, hitSetting(kind.name, g, 0))
			writes = append(writes, hitSetting(kind.name, g, 5))
		}
		out = append(out, report.Comparison{
			Title: "A: local hit, " + kind.name + " value, 100,000 resident keys, zipf 0.99", Workload: "A", Settings: reads,
			Contenders: names, Reference: "ristretto, pointers", Unit: nsOp, More: []string{allocsOp, bytesOp, missedPct},
			Note: "Time of the run divided by its operations. freecache, bigcache, fastcache, go-redis/cache, DoCache and CSC hold bytes and decode the same CBOR on every hit. String keys are ready-made.",
		}.Table(&e.Book), report.Comparison{
			Title: "A: the same with 5 % writes, time of a read alone", Workload: "A", Settings: writes,
			Contenders: names, Reference: "ristretto, pointers", Unit: readerNs, More: []string{allocsOp, missedPct},
		}.Table(&e.Book))
	}
	return append(append(out, e.hitKindTables()...), e.hitStateTable(), e.missTable())
}
