package follow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// removeFirst removes the cells of a caller's order on the caller's goroutine. So a hanging node of
// the remote tier delays only callers with keys on that node, and no round. The cleaner removes
// what is left.
func (w *Follower) removeFirst(ctx context.Context, o *order, until time.Time) {
	if len(o.cells) == 0 || w.logRemoves() || ctx.Err() != nil {
		return
	}
	w.remove(ctx, []*order{o}, until)
}

// logRemoves reports whether the log itself removes cells when it appends.
func (w *Follower) logRemoves() bool { return w.cfg.Names != nil }

// clean is the cleaner's loop. It retries to remove the cells that callers could not remove, and
// waits longer after each try that leaves some.
func (w *Follower) clean() {
	for {
		select {
		case <-w.stop:
			return
		case <-w.dirtied:
		}
		for retry := newBackoff(w.bound); w.isDirty(); {
			t := time.NewTimer(retry.next())
			select {
			case <-w.stop:
				t.Stop()
				return
			case <-t.C:
			}
			if w.sweep(w.ctx) {
				w.rouse()
			}
		}
	}
}

func (w *Follower) isDirty() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dirty) > 0
}

// sweep tries once to remove the cells of every dirty order. Orders without remaining cells go back
// to the queue, because their records must be written again. sweep reports whether there are any.
func (w *Follower) sweep(ctx context.Context) (some bool) {
	w.mu.Lock()
	orders := w.dirty
	w.dirty = nil
	var why error
	w.mu.Unlock()
	for len(orders) > 0 {
		var batch []*order
		batch, orders = batchOf(orders)
		w.remember(batch)
		apart(func() { w.remove(ctx, batch, time.Time{}) })
		w.mu.Lock()
		for _, o := range batch {
			some = some || len(o.cells) == 0
			why = cmp.Or(o.err, why)
			w.keep(o)
		}
		w.limit()
		w.tell(why)
		w.mu.Unlock()
	}
	return some
}

// remember fences again the keys of cells that could not be removed. Their records are in the log,
// but only the key fence keeps this process from serving the old cell. After enough other fences it
// would be forgotten.
func (w *Follower) remember(orders []*order) {
	at := w.fences.Cursor().Key
	for _, o := range orders {
		for _, text := range o.cells {
			if k, err := key.Parse(text); err == nil { // the order named it
				w.fences.Store(invalidate.Fence{Scope: invalidate.Key(k)}, at)
			}
		}
	}
}

// batchOf splits off the first orders whose cells fit into one command.
func batchOf(orders []*order) (batch, rest []*order) {
	n, cells := 0, 0
	for _, o := range orders {
		cells += len(o.cells)
		if n > 0 && cells > invalidate.MaxCells {
			break
		}
		n++
	}
	return orders[:n], orders[n:]
}

// remove removes the cells of orders. It leaves in each order the cells that may
// still exist. If the error does not name the failed keys, remove tries the orders one by one, so
// that one bad order does not block the others. With until, it stops at that time.
func (w *Follower) remove(ctx context.Context, orders []*order, until time.Time) {
	var cells []string
	for _, o := range orders {
		cells = append(cells, o.cells...)
	}
	err := w.removeCells(ctx, cells, until)
	failed, named := failedOf(err)
	if err != nil && !named && len(orders) > 1 {
		for _, o := range orders {
			w.remove(ctx, []*order{o}, until)
		}
		return
	}
	for _, o := range orders {
		if err == nil || named {
			o.cells = slices.DeleteFunc(o.cells, func(k string) bool { return !failed[k] })
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range orders {
		if len(o.cells) > 0 {
			o.err = reason(ctx, o.err, err)
		} else {
			o.err = nil
		}
	}
}

// removeCells calls Config.Remove once.
func (w *Follower) removeCells(ctx context.Context, cells []string, until time.Time) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic (%T)", x)
		}
		if err != nil {
			err = fmt.Errorf("invalidate: removing cells: %w", err)
		}
	}()
	ctx, cancel := context.WithDeadline(ctx, earlier(time.Now().Add(w.bound/4), until))
	defer cancel()
	return w.cfg.Remove(ctx, cells)
}

// failedOf returns the keys that an error of Remove names. It reports false if the error names
// none.
func failedOf(err error) (keys map[string]bool, named bool) {
	var partial interface {
		error
		FailedKeys() []string
	}
	if !errors.As(err, &partial) {
		return nil, false
	}
	keys = make(map[string]bool)
	for _, k := range partial.FailedKeys() {
		keys[k] = true
	}
	return keys, true
}
