package worker

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/proc"
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
	} else {
		w.invalidate(ctx, rng, t)
	}
	if rng.IntN(4) == 0 {
		w.ping(ctx)
	}
}

// invalidate raises the source in Redis, and then invalidates. As a control it forgets some calls.
func (w *worker) invalidate(ctx context.Context, rng *rand.Rand, t target) {
	versions, err := w.raise(ctx, t.keys)
	if err != nil {
		w.giveUp(err)
		return
	}
	if w.cfg.Lacks(NoCalls) && rng.IntN(10) == 0 {
		return
	}
	wait := patience / 3
	if w.cfg.Settle {
		wait += 2 * w.cfg.Bound
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wait)
	defer cancel()
	e := w.begun(t)
	if w.cfg.Plain {
		err = w.callFunction(ctx, rng, t.scopes)
	} else if w.cfg.Soft {
		err = w.tiers.Expire(ctx, t.scopes...)
	} else if t.kind == history.Key && len(t.keys) == 1 && rng.IntN(4) == 0 {
		err = w.levels[0].Delete(ctx, Name(t.keys[0]))
	} else {
		err = w.tiers.Invalidate(ctx, t.scopes...)
	}
	if err == nil && w.cfg.Settle {
		err = w.tiers.Settle(ctx)
	}
	if err == nil && w.cfg.Tickets {
		err = w.publish()
	}
	w.ended(e, t, versions, proc.Now(), "invalidate", err)
}

// begun returns the event of a call that begins.
func (w *worker) begun(t target) history.Event {
	return history.Event{Type: history.Acked, Kind: t.kind, Op: uint32(w.ops.Add(1)), Start: proc.Now()}
}

// ended records a call, which ended at a time, as one event for each key that it covers. A failed
// call counts as not made.
func (w *worker) ended(e history.Event, t target, versions []int64, at int64, op string, err error) {
	if err != nil {
		w.failed(op, err)
		e.Type = history.Refused
	}
	e.End = at
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

// commit writes the source and invalidates the changed keys in one transaction. Some calls wait
// until this process knows of it, or with Settle until every process does.
func (w *worker) commit(ctx context.Context, rng *rand.Rand, t target) {
	slices.Sort(t.keys)
	t.keys = slices.Compact(t.keys)
	e, version := w.begun(t), w.version()
	err := w.transact(ctx, t, version) // after an error it may have been committed nevertheless
	at := proc.Now()
	if err == nil {
		e.Type = history.Committed
		if w.knows(ctx, rng) {
			e.Type, at = history.Acked, proc.Now()
		}
	}
	w.ended(e, t, slices.Repeat([]int64{version}, len(t.keys)), at, "commit", err)
}

// version returns a unique version above all earlier ones.
func (w *worker) version() int64 { return proc.Now()<<8 | int64(w.cfg.Proc) }

// transact does the steps of the log's Tx one by one, so it can stop between two steps.
func (w *worker) transact(ctx context.Context, t target, version int64) error {
	tx, err := w.db.writers.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := write(ctx, tx, t.keys, version); err != nil {
		return err
	}
	if !w.outside && !w.cfg.Plain {
		if err := w.log.Append(ctx, tx, t.scopes...); err != nil {
			return err
		}
	}
	w.steps.reach(Written)
	if err := tx.Commit(); err != nil {
		return err
	}
	w.steps.reach(Committed)
	if w.outside {
		return w.tiers.Invalidate(ctx, t.scopes...)
	}
	if !w.cfg.Plain {
		w.log.Committed()
	}
	return nil
}

// knows waits, in some calls, until the process knows of its commit. With Settle it always waits,
// until no process can return anything older.
func (w *worker) knows(ctx context.Context, rng *rand.Rand) bool {
	var err error
	switch {
	case w.cfg.Settle:
		err = w.tiers.Settle(ctx)
	case rng.IntN(4) > 0:
		return false
	default:
		err = w.tiers.Ready(ctx)
	}
	if err == nil && w.cfg.Tickets {
		err = w.publish()
	}
	if err != nil {
		w.failed("confirm", err)
	}
	return err == nil
}
