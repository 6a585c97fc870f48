package worker

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/history"
	"github.com/twofold-go/twofold/internal/bench/proc"
)

// commit writes the source and invalidates the changed keys in one transaction. Some calls wait
// until this process knows of it, or with Strict until every process does.
func (w *worker) commit(ctx context.Context, rng *rand.Rand, t target) {
	slices.Sort(t.keys)
	t.keys = slices.Compact(t.keys)
	e := history.Event{Type: history.Committed, Kind: t.kind, Op: uint32(w.ops.Add(1)), Version: w.version(), Start: proc.Now()}
	err := w.transact(ctx, t, e.Version)
	e.End = proc.Now()
	switch {
	case err != nil: // it may have been committed nevertheless
		w.failed("commit", err)
		e.Type = history.Refused
	case w.told(ctx, rng):
		e.Type, e.End = history.Acked, proc.Now()
	}
	events := make([]history.Event, len(t.keys))
	for i, k := range t.keys {
		e.Key = uint16(k)
		events[i] = e
	}
	w.events.Add(events...)
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

// told waits, in some calls, until the process knows of its commit. With Strict it always waits,
// until no process can return anything older.
func (w *worker) told(ctx context.Context, rng *rand.Rand) bool {
	var err error
	switch {
	case w.cfg.Strict:
		err = w.tiers.Settle(ctx)
	case rng.IntN(4) > 0:
		return false
	default:
		err = w.tiers.Ready(ctx)
	}
	if err != nil {
		w.failed("confirm", err)
	}
	return err == nil
}
