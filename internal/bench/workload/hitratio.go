package workload

import (
	"context"
	"fmt"
	"strings"

	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// Workload D replays traces: get, and on a miss load and set. All values have the same size, and so
// do all keys, so a capacity in bytes corresponds to a number of entries. Twofold is used
// through its public API.

const (
	hitPct    = "hit-pct"
	budgetPct = "budget-pct"
	withWait  = "ristretto + Wait"

	overRistretto = "twofold, ristretto"
)

// shapes are the traces, for a universe of keys and a capacity.
var shapes = []struct {
	name string
	make func(universe, capacity, n int) []uint64
}{
	{"zipf", func(u, _, n int) []uint64 { return trace.Zipf(1, u, n) }},
	{"zipf + scan", func(u, _, n int) []uint64 { return trace.ZipfScan(1, u, n) }},
	{"loop 0.5×", func(_, c, n int) []uint64 { return trace.Loop(c/2, n) }},
	{"loop 1×", func(_, c, n int) []uint64 { return trace.Loop(c, n) }},
	{"loop 1.5×", func(_, c, n int) []uint64 { return trace.Loop(c*3/2, n) }},
	{"moving hot set", func(u, _, n int) []uint64 { return trace.MovingHotSet(1, u/2, 5, n) }},
	{"bursts", func(_, _, n int) []uint64 { return trace.Bursts(1, n) }},
	{"phases", func(u, c, n int) []uint64 { return trace.Phases(1, u, c, n) }},
}

// shares are the capacities in percent of the universe.
var shares = []int{1, 10, 50}

func ratioLine(shape string, share int, who string) report.Line {
	return line("D", ratioSetting(shape, share), who)
}

func ratioSetting(shape string, share int) string { return fmt.Sprintf("%s, %d %%", shape, share) }

// ratioEngines are the caches of workload D, with the overhead of an entry in a tier bounded by bytes.
var ratioEngines = []struct {
	name     string
	overhead int64
}{
	{"twofold", local.Overhead}, {overRistretto, ristretto.Overhead},
	{"golang-lru", 0}, {"ristretto", 0}, {withWait, 0}, {"otter", 0}, {"theine", 0},
}

func (e *Env) hitRatios() {
	universe, n := by(e, 100_000, 20_000, 6000), by(e, 1_000_000, 100_000, 10_000)
	cost := entryCost(e.ctx)
	for _, shape := range shapes {
		for _, share := range shares {
			capacity := universe * share / 100
			keys := shape.make(universe, capacity, n)
			var cs []contender
			for _, engine := range ratioEngines {
				cs = append(cs, contender{name: engine.name, sample: func(l report.Line) {
					e.replay(l, keys, peers.Options{Entries: capacity, MaxBytes: int64(capacity) * (cost + engine.overhead)}, engine.overhead)
				}})
			}
			e.compare(&scenario{id: "D", setting: ratioSetting(shape.name, share), rounds: 3}, cs)
		}
	}
}

// keyBase makes all keys equally long, including those of a scan.
const keyBase = 3 << 40

func flat(_ context.Context, id int64) (peers.Value, error) {
	return peers.Value{ID: id, Name: "flat", Tags: [2]string{"one", "two"}}, nil
}

// entryCost returns the library's cost of an entry, without the tier's overhead.
func entryCost(ctx context.Context) int64 {
	p := peers.NewTwofold(peers.Options{MaxBytes: 8 << 20, Load: flat}, peers.Twofold{})
	defer p.Close()
	const n = 100
	for i := range int64(n) {
		setup.Must(p.Cache.Get(ctx, keyBase+i))
	}
	return p.Tiers.Stats().Local.Bytes / n
}

// replay replays a trace through one cache.
func (e *Env) replay(l report.Line, keys []uint64, o peers.Options, overhead int64) {
	name, wait := strings.CutSuffix(l.Contender, " + Wait")
	ctx, s := e.ctx, setup.Must(peers.ByName(name))
	loads := 0 // of one goroutine's consecutive reads
	o.Load = func(ctx context.Context, id int64) (peers.Value, error) {
		loads++
		return flat(ctx, id)
	}
	p := s.Open(o)
	defer p.Close()
	peak := int64(0)
	for i, key := range keys {
		k := peers.Key{ID: keyBase + int64(key)}
		if _, ok := p.Get(ctx, &k); !ok {
			loads++
			v, _ := flat(ctx, k.ID) // it never fails
			setup.Check(p.Set(ctx, &k, v))
			if wait {
				p.Settle()
			}
		}
		if ours, ok := p.(*peers.TwofoldPeer); ok && i%1024 == 0 {
			u := ours.Tiers.Stats().Local
			peak = max(peak, u.Bytes+u.Entries*overhead)
		}
	}
	if peak > 0 {
		e.Book.Add(l, budgetPct, 100*float64(peak)/float64(o.MaxBytes))
	}
	e.Book.Add(l, hitPct, 100*(1-float64(loads)/float64(len(keys))))
}

func hitRatioTable(e *Env) report.Table {
	t := report.Table{
		Title: "D: hit ratio in %, capacity in percent of the universe", Head: []string{"trace"},
		Note: "100,000 keys, a million accesses, fixed seeds. A loop's number is its length in multiples of the capacity. Phases are " +
			"zipf, bursts and a loop of 1.5 times the capacity, in turn. " +
			"ristretto applies writes late. \"+ Wait\" waits for each write, which is not possible in production. " +
			"Budget is the maximum that Twofold's local tier used, in percent of its MaxBytes.",
	}
	for _, engine := range ratioEngines {
		t.Head = append(t.Head, engine.name)
	}
	t.Head = append(t.Head, "budget")
	for _, shape := range shapes {
		for _, share := range shares {
			row := []string{ratioSetting(shape.name, share)}
			for _, engine := range ratioEngines {
				row = append(row, report.Spread(e.Book.Values(ratioLine(shape.name, share, engine.name), hitPct)))
			}
			t.Rows = append(t.Rows, append(row, report.Number(e.Book.Median(ratioLine(shape.name, share, "twofold"), budgetPct))))
		}
	}
	return t
}
