package workload

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/trace"
)

// Workload A reads resident keys drawn by a Zipf law, without writes and with one write in
// twenty operations, on one goroutine and on as many as there are processors. Then it reads them in the
// ways that the library has, in the states of an entry, and it misses.

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

// goroutines returns the numbers of goroutines for the measurement of hits.
func goroutines() []int {
	if p := runtime.GOMAXPROCS(0); p > 1 {
		return []int{1, p}
	}
	return []int{1}
}

// localHits measures every peer with values of one kind.
func (e *Env) localHits(value string, of func(int64) peers.Value) {
	n := by(e, 100_000, 20_000, 2000)
	stream := keyStream(n, by(e, 1<<20, 1<<18, 1<<14))
	var all []*resident
	for _, s := range peers.All() {
		p := &resident{name: s.Name, stream: stream, of: of}
		// A TinyLFU has a window that evicts early, so it gets spare room.
		p.Peer = open(e.t, s.Name, e.options(s.Name, 2*n, p.load), n, of)
		all = append(all, p)
	}
	for _, writes := range []int{0, 5} {
		for _, g := range goroutines() {
			s := scenario{id: "A", setting: hitSetting(value, g, writes), goroutines: g, warm: [3]int64{30, 10, 1}, span: [3]int64{100, 40, 10}}
			s.least = 100 // blocks, which take 2 ms: in fewer of them the goroutines' own allocations would show
			s.tables = []report.Comparison{{
				Title: "A: local hit, " + value + " value, 100,000 resident keys, zipf 0.99", Reference: "ristretto, pointers", Unit: nsOp, More: []string{allocsOp, bytesOp, missedPct},
				Note: "Time of the run divided by its operations. freecache, bigcache, fastcache, go-redis/cache, DoCache and CSC hold bytes and decode the same CBOR on every hit. String keys are ready-made.",
			}}
			if writes > 0 {
				s.tables = []report.Comparison{{
					Title: "A: the same with 5 % writes, time of a read alone, " + value + " value", Reference: "ristretto, pointers", Unit: readerNs, More: []string{allocsOp, missedPct},
				}}
			}
			cs := make([]contender, len(all))
			for i, p := range all {
				cs[i] = e.residentReads(p, block*writes/100)
			}
			e.compare(&s, cs)
		}
	}
}

// resident is a peer that holds every key.
type resident struct {
	peers.Peer
	name   string
	stream []peers.Key
	of     func(int64) peers.Value
	loads  atomic.Int64
}

func (p *resident) load(_ context.Context, id int64) (peers.Value, error) {
	p.loads.Add(1)
	return p.of(id), nil
}

// block is the number of operations that are timed together. With writes, these come at the end of
// the block, and the reads are timed separately.
const block = 200

// tally is what one goroutine has done.
type tally struct {
	reads, missed, took int64
	_                   [64]byte // keeps goroutines on different cache lines
}

// residentReads reads and, in each block, writes a few keys.
func (e *Env) residentReads(p *resident, writes int) contender {
	var tallies []*tally
	var loaded int64
	c := contender{name: p.name, per: block}
	c.before = func() { tallies, loaded = nil, p.loads.Load() }
	c.each = func(int) op {
		t := &tally{}
		tallies = append(tallies, t)
		return func(ctx context.Context, i int) error { return p.block(ctx, t, i*block, writes) }
	}
	c.after = func(l report.Line, _ measure.Result) {
		sum := tally{missed: p.loads.Load() - loaded} // loading peers miss nothing, but their loads count here
		for _, t := range tallies {
			sum.reads, sum.missed, sum.took = sum.reads+t.reads, sum.missed+t.missed, sum.took+t.took
		}
		e.Book.Add(l, readerNs, float64(sum.took)/float64(sum.reads)/float64(len(tallies)))
		e.Book.Add(l, missedPct, 100*float64(sum.missed)/float64(sum.reads))
	}
	return c
}

func (p *resident) block(ctx context.Context, t *tally, at, writes int) (err error) {
	mask, n, missed := len(p.stream)-1, block-writes, int64(0)
	start := time.Now()
	for j := range n {
		k := &p.stream[(at+j)&mask]
		if v, ok := p.Get(ctx, k); !ok || v.ID != k.ID {
			missed++
		}
	}
	t.took += int64(time.Since(start))
	t.reads += int64(n)
	t.missed += missed
	for j := n; j < block && err == nil; j++ {
		k := &p.stream[(at+j)&mask]
		err = p.Set(ctx, k, p.of(k.ID))
	}
	return err
}

const (
	missRoomy  = "miss, room for all"
	missTight  = "miss, room for a few"
	bareLoader = "the loader alone"
)

// misses have a loader that does almost nothing, so their time is the cache's own. Without room, it
// includes an eviction.
func (e *Env) misses(setting string, room int) {
	sum := int64(0)
	cs := []contender{{name: bareLoader, op: func(ctx context.Context, i int) error {
		v, err := loadSmall(ctx, int64(i))
		sum += v.ID
		return err
	}}}
	for _, s := range peers.All() {
		if !s.Loads || s.Kind == peers.TwoTier {
			continue
		}
		p := open(e.t, s.Name, peers.Options{Entries: room, Load: loadSmall}, 0, nil)
		k := new(peers.Key) // never the same twice
		cs = append(cs, contender{name: s.Name, op: func(ctx context.Context, _ int) error {
			if k.ID++; s.Name == "sturdyc" {
				*k = peers.KeyOf(k.ID)
			}
			p.Get(ctx, k)
			return nil
		}})
	}
	e.compare(&scenario{id: "A", setting: setting, span: missSpan, tables: []report.Comparison{{
		Title: "A: a miss, with a loader that returns at once, 1 goroutine", Reference: "otter, loading", Unit: nsOp, More: []string{allocsOp, bytesOp},
	}}}, cs)
}

var missSpan = [3]int64{200, 100, 4}

// keyStream returns a Zipf trace over n keys, always with the same seed. The keys of one id share
// their text.
func keyStream(n, length int) []peers.Key {
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

// keysOf returns a trace of 1<<18 keys below n.
func keysOf(spread string, n int) []peers.Key {
	keys := make([]peers.Key, 1<<18)
	drawn := trace.Zipf(1, n, len(keys))
	for i := range keys {
		switch spread {
		case hotKeys:
			keys[i].ID = int64(i % batchOf)
		case zipfKeys:
			keys[i].ID = int64(drawn[i])
		default:
			keys[i].ID = int64(uint64(i) * 0x9e3779b97f4a7c15 >> 20 % uint64(n))
		}
	}
	return keys
}

// batchOf is how many keys a call of a reader has.
const batchOf = 64

// reader reads a batch of keys, and returns how many it did not find.
type reader func(ctx context.Context, keys []peers.Key) (missed int)

// reads returns a contender that reads a stream of resident keys.
func reads(name string, stream []peers.Key, read reader) contender {
	missed := 0
	return contender{
		name: name, per: batchOf, before: func() { missed = 0 },
		op: func(ctx context.Context, i int) error {
			at := i * batchOf & (len(stream) - 1)
			missed += read(ctx, stream[at:at+batchOf])
			return nil
		},
		after: func(_ report.Line, r measure.Result) {
			if int64(missed) > r.Ops/100 {
				setup.Check(fmt.Errorf("missed %d of %d resident keys", missed, r.Ops))
			}
		},
	}
}

func byPeer(p peers.Peer) reader {
	return func(ctx context.Context, keys []peers.Key) (missed int) {
		for i := range keys {
			if v, ok := p.Get(ctx, &keys[i]); !ok || v.ID != keys[i].ID {
				missed++
			}
		}
		return missed
	}
}

func byBatch(c cache.Cache[int64, peers.Value]) reader {
	ids := make([]int64, batchOf)
	return func(ctx context.Context, keys []peers.Key) (missed int) {
		for i := range keys {
			ids[i] = keys[i].ID
		}
		all, err := c.GetMany(ctx, ids)
		if err != nil || len(all) == 0 {
			return len(ids)
		}
		return 0
	}
}

// byMap makes the map that a GetMany returns, and reads nothing.
func byMap(_ context.Context, keys []peers.Key) (missed int) {
	all := make(map[int64]peers.Value, len(keys))
	for i := range keys {
		all[keys[i].ID] = peers.Value{ID: keys[i].ID}
	}
	if len(all) == 0 {
		return len(keys)
	}
	return 0
}
