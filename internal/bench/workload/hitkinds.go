package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/bench/peers"
	"github.com/twofold-go/twofold/internal/bench/report"
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
)

var (
	keySpreads = []string{hotKeys, zipfKeys, uniformKeys}
	hitWarm    = [3]int64{30, 10, 1}
	hitSpan    = [3]int64{100, 40, 4}
)

func kindLine(spread, who string) report.Line {
	return report.Line{Workload: "A", Setting: "hits, " + spread + " keys", Contender: who}
}

func setLine(who string) report.Line {
	return report.Line{Workload: "A", Setting: "a Set", Contender: who}
}

func (e *Env) hitKinds(ctx context.Context) error {
	n := by(e, 100_000, 20_000, 2000)
	o := peers.Options{Entries: 2 * n, Load: loadSmall}
	var own owned
	defer own.close()
	open := map[string]peers.Peer{}
	for _, name := range []string{clocked, rawObject, loading, "otter"} {
		var err error
		if open[name], err = own.peer(ctx, name, o, n, peers.Small); err != nil {
			return err
		}
	}
	plain, err := own.twofold(ctx, o, peers.Twofold{}, n)
	if err != nil {
		return err
	}
	lasting, err := own.twofold(ctx, o, peers.Twofold{Policy: policy.Patch{TTL: new(policy.Forever)}}, n)
	if err != nil {
		return err
	}
	open[byGet] = plain
	for _, spread := range keySpreads {
		keys := keysOf(spread, n)
		s := scenario{id: "A", setting: kindLine(spread, "").Setting, warm: hitWarm, span: hitSpan, tables: []report.Comparison{{
			Title: "A: ways to read, int64 keys, 100,000 resident entries, 1 goroutine, per key", Reference: rawObject, Unit: nsOp, More: []string{allocsOp},
			Note: "At a moment: one reading of the clock for 64 keys. For ever: no lifetime and no log, so no reading. Hot: 64 keys.",
		}}}
		if err := e.compare(ctx, &s, []contender{
			reads(byGet, keys, byPeer(plain)), reads(atMoment, keys, byMoment(plain.Cache)), reads(forEver, keys, byPeer(lasting)),
			reads(byGetMany, keys, byBatch(plain.Cache)), reads(mapAlone, keys, byMap),
			reads(clocked, keys, byPeer(open[clocked])), reads(rawObject, keys, byPeer(open[rawObject])), reads(loading, keys, byPeer(open[loading])),
		}); err != nil {
			return err
		}
	}
	return e.sets(ctx, open, keysOf(zipfKeys, n))
}

// sets measures a Set of a resident key: each replaces a value.
func (e *Env) sets(ctx context.Context, open map[string]peers.Peer, keys []peers.Key) error {
	var cs []contender
	for _, name := range []string{byGet, clocked, rawObject, "otter"} {
		p := open[name]
		cs = append(cs, contender{
			name: name,
			op: func(ctx context.Context, i int) error {
				k := &keys[i&(len(keys)-1)]
				return p.Set(ctx, k, peers.Small(k.ID))
			},
			after: func(report.Line, measure.Result) error { p.Settle(); return nil },
		})
	}
	return e.compare(ctx, &scenario{id: "A", setting: "a Set", warm: hitWarm, span: hitSpan, tables: []report.Comparison{{
		Title: "A: a Set of a resident key, 1 goroutine", Reference: rawObject, Unit: nsOp, More: []string{allocsOp, bytesOp},
		Note: "Twofold's Set is an invalidation, too: it fences the key. ristretto's puts the value into a queue.",
	}}}, cs)
}

// The states of an entry that a hit can find: fresh, a remembered absence, and stale with a refresh
// under way. All three use few keys, because each stale key has a refresh that hangs until the end.
const (
	plainHit    = "plain hit"
	negativeHit = "negative hit"
	staleHit    = "stale hit"
)

func stateLine(who string) report.Line {
	return report.Line{Workload: "A", Setting: "entry states", Contender: who}
}

func (e *Env) hitStates(ctx context.Context) error {
	n := by(e, 1000, 1000, 100)
	stream := KeyStream(n, 1<<14)
	hang, cancel := context.WithCancel(ctx)
	var own owned
	defer own.close()
	defer cancel() // before the peers close, because their refreshes hang
	var cs []contender
	for _, s := range []struct {
		name string
		open func(ctx context.Context, own *owned, n int) (*peers.TwofoldPeer, error)
	}{{plainHit, openPlain}, {negativeHit, openAbsent}, {staleHit, openStale}} {
		p, err := s.open(hang, &own, n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		var before int64
		c := contender{name: s.name}
		c.before = func(context.Context) error { before = p.Tiers.Stats().Total.LocalHits; return nil }
		c.op = func(ctx context.Context, i int) error {
			if _, err := p.Cache.Get(ctx, stream[i&(1<<14-1)].ID); (err != nil) != (s.name == negativeHit) {
				return fmt.Errorf("a read that is not a %s: %w", s.name, err)
			}
			return nil
		}
		c.after = func(_ report.Line, r measure.Result) error {
			if local := p.Tiers.Stats().Total.LocalHits - before; local != r.Ops {
				return fmt.Errorf("%d of %d reads were answered locally", local, r.Ops)
			}
			return nil
		}
		cs = append(cs, c)
	}
	return e.compare(ctx, &scenario{id: "A", setting: "entry states", span: [3]int64{200, 50, 4}, tables: []report.Comparison{{
		Title: "A: what a hit finds, 1,000 keys, 1 goroutine", Reference: plainHit, Unit: nsOp, More: []string{allocsOp},
		Note: "A negative hit is a remembered absence. The refresh of every stale key is under way.",
	}}}, cs)
}

func openPlain(ctx context.Context, own *owned, n int) (*peers.TwofoldPeer, error) {
	return own.twofold(ctx, peers.Options{Entries: n, Load: loadSmall}, peers.Twofold{}, n)
}

func openAbsent(ctx context.Context, own *owned, n int) (*peers.TwofoldPeer, error) {
	p, err := own.twofold(ctx, peers.Options{Entries: n, Load: func(context.Context, int64) (peers.Value, error) {
		return peers.Value{}, cache.ErrNotFound
	}}, peers.Twofold{Policy: policy.Patch{NegativeTTL: new(time.Hour)}}, n)
	if err != nil {
		return nil, err
	}
	if _, err := p.Cache.Get(ctx, 0); !errors.Is(err, cache.ErrNotFound) {
		return nil, fmt.Errorf("absent: %w", err)
	}
	return p, nil
}

// openStale fills a cache, waits until everything is stale and starts every refresh. No refresh
// ends before ctx does.
func openStale(ctx context.Context, own *owned, n int) (*peers.TwofoldPeer, error) {
	loaded := make([]bool, n) // each written by its first load, read by its refresh
	p, err := own.twofold(ctx, peers.Options{Entries: n, Load: func(loading context.Context, id int64) (peers.Value, error) {
		if loaded[id] {
			select {
			case <-ctx.Done():
			case <-loading.Done():
			}
			return peers.Value{}, context.Canceled
		}
		loaded[id] = true
		return peers.Small(id), nil
	}}, peers.Twofold{Refreshes: 2 * n, Policy: policy.Patch{
		Stale: new(time.Hour), LoadTimeout: new(time.Hour),
	}}, 0)
	if err != nil {
		return nil, err
	}
	for id := range int64(n) {
		if _, err := p.Cache.GetOrLoad(ctx, id, nil, cache.TTL(policy.Resolution)); err != nil {
			return nil, err
		}
	}
	wait := time.NewTimer(20 * policy.Resolution)
	defer wait.Stop()
	<-wait.C
	for id := range int64(n) {
		r, err := p.Cache.Fetch(ctx, id, nil)
		if err == nil && !r.Stale {
			err = fmt.Errorf("key %d is not stale", id)
		}
		if err != nil {
			return nil, err
		}
	}
	return p, nil
}
