package workload

import (
	"context"
	"fmt"
	"strings"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/policy"
)

// The ways to read a key that this process holds, by how the keys are spread: each reads
// the clock once a call, once a request, or not at all. One goroutine reads 100,000
// entries by int64 keys.

const (
	hotKeys     = "hot"
	zipfKeys    = "zipf"
	uniformKeys = "uniform"

	byGet     = "twofold"
	atMoment  = "twofold, at a moment"
	forEver   = "twofold, for ever"
	byGetMany = "twofold, GetMany of 64"
	mapAlone  = "a new map of 64"
	clocked   = "tier/local, clock"
	rawObject = "ristretto"
	loading   = "otter, loading"

	batchOf = 64
)

var keySpreads = []string{hotKeys, zipfKeys, uniformKeys}

func kindLine(spread, who string) report.Line {
	return report.Line{Workload: "A", Setting: "hits, " + spread + " keys", Contender: who}
}

func setLine(who string) report.Line {
	return report.Line{Workload: "A", Setting: "a Set", Contender: who}
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

// batchReader reads a batch of keys, and returns how many it did not find.
type batchReader func(ctx context.Context, keys []peers.Key) (missed int)

func byPeer(p peers.Peer) batchReader {
	return func(ctx context.Context, keys []peers.Key) (missed int) {
		for i := range keys {
			if v, ok := p.Get(ctx, &keys[i]); !ok || v.ID != keys[i].ID {
				missed++
			}
		}
		return missed
	}
}

func byMoment(c cache.Cache[int64, peers.Value]) batchReader {
	return func(ctx context.Context, keys []peers.Key) (missed int) {
		r := c.At(cache.Now())
		for i := range keys {
			if v, err := r.Get(ctx, keys[i].ID); err != nil || v.ID != keys[i].ID {
				missed++
			}
		}
		return missed
	}
}

func byBatch(c cache.Cache[int64, peers.Value]) batchReader {
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

func (e *Env) hitKinds(ctx context.Context) error {
	n := by(e, 100_000, 20_000, 2000)
	read := map[string]batchReader{}
	for _, name := range []string{clocked, rawObject, loading} {
		p, done, err := e.filled(ctx, name, n)
		if err != nil {
			return err
		}
		defer done()
		read[name] = byPeer(p)
	}
	plain, err := filledTwofold(ctx, n, policy.Patch{})
	if err != nil {
		return err
	}
	defer plain.Close()
	lasting, err := filledTwofold(ctx, n, policy.Patch{TTL: new(policy.Forever)})
	if err != nil {
		return err
	}
	defer lasting.Close()
	read[byGet], read[atMoment], read[byGetMany] = byPeer(plain), byMoment(plain.Cache), byBatch(plain.Cache)
	read[forEver], read[mapAlone] = byPeer(lasting), byMap
	for _, spread := range keySpreads {
		keys := keysOf(spread, n)
		var cs []measure.Contender
		for _, who := range kindContenders {
			cs = append(cs, measure.Contender{Name: who, Measure: func(ctx context.Context) error {
				return e.kind(ctx, kindLine(spread, who), keys, read[who])
			}})
		}
		if err := measure.Rounds(ctx, e.Rounds, cs); err != nil {
			return err
		}
	}
	return e.sets(ctx, plain, n)
}

var kindContenders = []string{byGet, atMoment, forEver, byGetMany, mapAlone, clocked, rawObject, loading}

// filled opens a peer by its name and fills it.
func (e *Env) filled(ctx context.Context, name string, n int) (peers.Peer, func(), error) {
	s, err := peers.ByName(name)
	if err != nil {
		return nil, nil, err
	}
	p, err := s.Open(peers.Options{Entries: 2 * n, Load: loadSmall})
	if err != nil {
		return nil, nil, err
	}
	return p, p.Close, Fill(ctx, p, s.Loads, n, peers.Small)
}

func filledTwofold(ctx context.Context, n int, with policy.Patch) (*peers.TwofoldPeer, error) {
	p, err := peers.NewTwofold(peers.Options{Entries: 2 * n, Load: loadSmall}, peers.Twofold{Policy: with})
	if err != nil {
		return nil, err
	}
	return p, Fill(ctx, p, true, n, peers.Small)
}

// kind takes one sample of reads in batches.
func (e *Env) kind(ctx context.Context, l report.Line, keys []peers.Key, read batchReader) error {
	missed := 0
	r := measure.Run(ctx, measure.Config{Warm: e.ms(30, 10, 1), For: e.ms(100, 40, 4)}, func(int) func(int) {
		return func(i int) {
			at := i * batchOf & (len(keys) - 1)
			missed += read(ctx, keys[at:at+batchOf])
		}
	})
	r.Ops *= batchOf
	r.Allocs /= batchOf
	r.Bytes /= batchOf
	if int64(missed) > r.Ops/100 {
		return fmt.Errorf("%s missed %d of %d resident keys", l.Contender, missed, r.Ops)
	}
	e.add(l, r)
	return nil
}

// sets measures a Set of a resident key: each replaces a value.
func (e *Env) sets(ctx context.Context, plain *peers.TwofoldPeer, n int) error {
	cs := []measure.Contender{{Name: byGet, Measure: func(ctx context.Context) error { return e.set(ctx, byGet, plain, n) }}}
	for _, name := range []string{clocked, rawObject, "otter"} {
		p, done, err := e.filled(ctx, name, n)
		if err != nil {
			return err
		}
		defer done()
		cs = append(cs, measure.Contender{Name: name, Measure: func(ctx context.Context) error { return e.set(ctx, name, p, n) }})
	}
	return measure.Rounds(ctx, e.Rounds, cs)
}

func (e *Env) set(ctx context.Context, who string, p peers.Peer, n int) error {
	keys := keysOf(zipfKeys, n)
	var failed error
	r := measure.Run(ctx, measure.Config{Warm: e.ms(30, 10, 1), For: e.ms(100, 40, 4)}, func(int) func(int) {
		return func(i int) {
			k := &keys[i&(len(keys)-1)]
			if err := p.Set(ctx, k, peers.Small(k.ID)); err != nil {
				failed = err
			}
		}
	})
	p.Settle()
	e.add(setLine(who), r)
	return failed
}

func (e *Env) hitKindTables() []report.Table {
	var settings []string
	for _, spread := range keySpreads {
		settings = append(settings, kindLine(spread, "").Setting)
	}
	return []report.Table{
		report.Comparison{
			Title: "A: ways to read, int64 keys, 100,000 resident entries, 1 goroutine, per key", Workload: "A", Settings: settings,
			Contenders: kindContenders, Reference: rawObject, Unit: nsOp, More: []string{allocsOp},
			Note: "At a moment: one reading of the clock for 64 keys. For ever: no lifetime and no log, so no reading. Hot: 64 keys.",
		}.Table(&e.Book),
		report.Comparison{
			Title: "A: a Set of a resident key, 1 goroutine", Workload: "A", Settings: []string{setLine("").Setting},
			Contenders: []string{byGet, clocked, rawObject, "otter"}, Reference: rawObject, Unit: nsOp, More: []string{allocsOp, bytesOp},
			Note: "Twofold's Set is an invalidation, too: it fences the key. ristretto's puts the value into a queue.",
		}.Table(&e.Book),
	}
}

// kindGoals are about ways to read, and about a Set.
func (e *Env) kindGoals() []report.Goal {
	ratios := func(who, to string, spreads ...string) (worstOf float64, detail string) {
		all, details := make([]float64, len(spreads)), make([]string, len(spreads))
		for i, spread := range spreads {
			all[i] = e.Book.Ratio(kindLine(spread, who), kindLine(spread, to), nsOp)
			details[i] = spread + " " + report.Number(all[i])
		}
		return worst(all...), strings.Join(details, ", ")
	}
	goal := func(what string, limit float64, who, to string, spreads ...string) report.Goal {
		reached, detail := ratios(who, to, spreads...)
		return atMost(what, times(limit), limit, reached, detail)
	}
	return []report.Goal{
		goal("a hit by Get, against tier/local and one reading of the clock", 1.15, byGet, clocked, keySpreads...),
		goal("a hit by Get, zipf, against otter, loading", 1, byGet, loading, zipfKeys),
		goal("a hit at a moment, against ristretto", 1.1, atMoment, rawObject, keySpreads...),
		goal("a hit that lives for ever, without a log, against ristretto", 1.1, forEver, rawObject, keySpreads...),
		goal("GetMany of 64, per key, against Get", 0.6, byGetMany, byGet, keySpreads...),
		atMost("a Set, against ristretto's", times(2), 2, e.Book.Ratio(setLine(byGet), setLine(rawObject), nsOp), "one tier"),
	}
}
