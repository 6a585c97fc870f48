package worker

import (
	"context"
	"math/rand/v2"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/proc"
	"github.com/twofold-go/twofold/invalidate"
)

// write raises the source and invalidates the changed keys. One in eight calls names two targets.
func (w *worker) write(rng *rand.Rand) {
	t := w.keys.pick(rng, &w.cfg)
	if rng.IntN(8) == 0 {
		more := w.keys.pick(rng, &w.cfg)
		t.scopes, t.keys = append(t.scopes, more.scopes...), append(t.keys, more.keys...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if w.db != nil {
		w.commit(ctx, rng, t)
		if rng.IntN(4) == 0 {
			w.ping(ctx)
		}
		return
	}
	versions, err := w.raise(ctx, t.keys)
	if err != nil {
		w.giveUp(err)
		return
	}
	if w.cfg.Lacks(NoCalls) && rng.IntN(10) == 0 {
		return
	}
	w.invalidate(rng, t, versions)
	if rng.IntN(4) == 0 {
		w.ping(ctx)
	}
}

// invalidate records one event for each key that the call covers. A failed call counts as not made.
func (w *worker) invalidate(rng *rand.Rand, t target, versions []int64) {
	wait := patience / 3
	var how []invalidate.Scope
	if w.cfg.Strict {
		how = append(how, invalidate.Strict)
		wait += 2 * w.cfg.Bound
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	e := history.Event{Type: history.Acked, Kind: t.kind, Op: uint32(w.ops.Add(1)), Start: proc.Now()}
	var err error
	if w.cfg.Soft {
		err = w.tiers.Expire(ctx, t.scopes...)
	} else if t.kind == history.Key && len(t.keys) == 1 && rng.IntN(4) == 0 {
		err = w.levels[0].Delete(ctx, Name(t.keys[0]), how...)
	} else {
		err = w.tiers.Invalidate(ctx, append(t.scopes, how...)...)
	}
	e.End = proc.Now()
	if err != nil {
		w.failed("invalidate", err)
		e.Type = history.Refused
	}
	events := make([]history.Event, len(t.keys))
	for i, k := range t.keys {
		e.Key, e.Version = uint16(k), versions[i]
		events[i] = e
	}
	w.events.Add(events...)
}

// ping measures a current round trip.
func (w *worker) ping(ctx context.Context) {
	e := history.Event{Type: history.Ping, Start: proc.Now()}
	ping := func(ctx context.Context) error { return w.rdb.Ping(ctx).Err() }
	if w.db != nil {
		ping = w.db.ping
	}
	if err := ping(ctx); err != nil {
		w.failed("ping", err)
		return
	}
	e.End = proc.Now()
	w.events.Add(e)
}
