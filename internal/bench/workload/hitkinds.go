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
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/policy"
)

// The ways to read a key that this process holds, by how the keys are spread: each reads
// the clock once a call, once a request, or not at all. One goroutine reads 100,000
// entries by int64 keys.

const (
	setSetting   = "a Set"
	stateSetting = "entry states"

	hotKeys     = "hot"
	zipfKeys    = "zipf"
	uniformKeys = "uniform"

	byGet     = "twofold"
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

func kindSetting(spread string) string { return "hits, " + spread + " keys" }

func (e *Env) hitKinds() {
	n := by(e, 100_000, 20_000, 2000)
	o := peers.Options{Entries: 2 * n, Load: loadSmall}
	plain := twofold(e.t, o, peers.Twofold{}, n)
	lasting := twofold(e.t, o, peers.Twofold{Policy: policy.Patch{TTL: new(policy.Forever)}}, n)
	all := map[string]peers.Peer{byGet: plain}
	for _, name := range []string{clocked, rawObject, loading, "otter"} {
		all[name] = open(e.t, name, o, n, peers.Small)
	}
	for _, spread := range keySpreads {
		keys := keysOf(spread, n)
		s := scenario{id: "A", setting: kindSetting(spread), warm: hitWarm, span: hitSpan, tables: []report.Comparison{{
			Title: "A: ways to read, int64 keys, 100,000 resident entries, 1 goroutine, per key", Reference: rawObject, Unit: nsOp, More: []string{allocsOp},
			Note: "For ever: no lifetime and no log, so no reading. Hot: 64 keys.",
		}}}
		e.compare(&s, []contender{
			reads(byGet, keys, byPeer(plain)), reads(forEver, keys, byPeer(lasting)),
			reads(byGetMany, keys, byBatch(plain.Cache)), reads(mapAlone, keys, byMap),
			reads(clocked, keys, byPeer(all[clocked])), reads(rawObject, keys, byPeer(all[rawObject])), reads(loading, keys, byPeer(all[loading])),
		})
	}
	e.sets(all, keysOf(zipfKeys, n))
}

// sets measures a Set of a resident key: each replaces a value.
func (e *Env) sets(all map[string]peers.Peer, keys []peers.Key) {
	var cs []contender
	for _, name := range []string{byGet, clocked, rawObject, "otter"} {
		p := all[name]
		cs = append(cs, contender{
			name: name,
			op: func(ctx context.Context, i int) error {
				k := &keys[i&(len(keys)-1)]
				return p.Set(ctx, k, peers.Small(k.ID))
			},
			after: func(report.Line, measure.Result) { p.Settle() },
		})
	}
	e.compare(&scenario{id: "A", setting: setSetting, warm: hitWarm, span: hitSpan, tables: []report.Comparison{{
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

func (e *Env) hitStates() {
	n := by(e, 1000, 1000, 100)
	stream := keyStream(n, 1<<14)
	var cs []contender
	for _, s := range []struct {
		name string
		open func(t *setup.T, n int) *peers.TwofoldPeer
	}{{plainHit, openPlain}, {negativeHit, openAbsent}, {staleHit, openStale}} {
		p := s.open(e.t, n)
		var before int64
		c := contender{name: s.name}
		c.before = func() { before = p.Tiers.Stats().Total.Reads.LocalHits }
		c.op = func(ctx context.Context, i int) error {
			if _, err := p.Cache.Get(ctx, stream[i&(1<<14-1)].ID); (err != nil) != (s.name == negativeHit) {
				return fmt.Errorf("a read that is not a %s: %w", s.name, err)
			}
			return nil
		}
		c.after = func(_ report.Line, r measure.Result) {
			if local := p.Tiers.Stats().Total.Reads.LocalHits - before; local != r.Ops {
				e.t.Fatalf("%d of %d reads were answered locally", local, r.Ops)
			}
		}
		cs = append(cs, c)
	}
	e.compare(&scenario{id: "A", setting: stateSetting, span: [3]int64{200, 50, 4}, tables: []report.Comparison{{
		Title: "A: what a hit finds, 1,000 keys, 1 goroutine", Reference: plainHit, Unit: nsOp, More: []string{allocsOp},
		Note: "A negative hit is a remembered absence. The refresh of every stale key is under way.",
	}}}, cs)
}

func openPlain(t *setup.T, n int) *peers.TwofoldPeer {
	return twofold(t, peers.Options{Entries: n, Load: loadSmall}, peers.Twofold{}, n)
}

func openAbsent(t *setup.T, n int) *peers.TwofoldPeer {
	p := twofold(t, peers.Options{Entries: n, Load: func(context.Context, int64) (peers.Value, error) {
		return peers.Value{}, cache.ErrNotFound
	}}, peers.Twofold{Policy: policy.Patch{NegativeTTL: new(time.Hour)}}, n)
	if _, err := p.Cache.Get(t.Context(), 0); !errors.Is(err, cache.ErrNotFound) {
		t.Fatalf("absent: %w", err)
	}
	return p
}

// openStale fills a cache, waits until everything is stale and starts every refresh. No refresh
// ends before t is closed.
func openStale(t *setup.T, n int) *peers.TwofoldPeer {
	ctx := t.Context()
	loaded := make([]bool, n) // each written by its first load, read by its refresh
	p := twofold(t, peers.Options{Entries: n, Load: func(loading context.Context, id int64) (peers.Value, error) {
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
	for id := range int64(n) {
		setup.Must(p.Cache.GetOrLoad(ctx, id, nil, cache.TTL(policy.Resolution)))
	}
	time.Sleep(20 * policy.Resolution)
	for id := range int64(n) {
		if r := setup.Must(p.Cache.Fetch(ctx, id, nil)); !r.Stale {
			t.Fatalf("key %d is not stale", id)
		}
	}
	return p
}
