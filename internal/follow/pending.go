package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// An order that has not landed is in one of four places: in the queue, in the round under way,
// among the dirty orders, or with the cleaner. It is pending if its caller has left or a try has
// failed. It is owed if it is pending and its record is not in the log. Then the remote tier may
// hold what the order covers, and no position says so.
//
// MaxPending bounds the pending scopes. Beyond it, one order of everything replaces all that wait.
// It does not keep orders whose callers have left, so its cost does not grow. While it is in the
// queue it absorbs every order that comes. Once a round has taken it, it may already be in the log,
// so a later order is queued separately.

// enqueue gives an order to the next round.
func (w *Follower) enqueue(o *order) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrClosed
	}
	if w.lastErr != nil {
		o.fail(w.lastErr)
	}
	w.keep(o)
	return nil
}

// keep puts an order back where it waits. mu is held.
func (w *Follower) keep(o *order) {
	switch {
	case w.all != nil:
		w.absorb(o)
	case o.state == written && len(o.cells) > 0:
		w.dirty = append(w.dirty, o)
	default:
		w.queue = append(w.queue, o)
	}
}

// takeOrders returns everything that waits for a round, oldest first.
func (w *Follower) takeOrders() []*order {
	w.mu.Lock()
	defer w.mu.Unlock()
	orders := w.queue
	w.queue, w.all = nil, nil
	return orders
}

// giveBack keeps the orders of a failed round for another try. It applies them here, since their
// callers may not wait for that try.
func (w *Follower) giveBack(ctx context.Context, orders []*order, why error) {
	w.keepAll(ctx, orders, why)
	for _, o := range orders {
		if !o.refused && o.waiting == nil {
			o.refused = true
			w.fences.Apply(o.req)
		}
	}
}

// keepAll keeps orders whose round has failed.
func (w *Follower) keepAll(ctx context.Context, orders []*order, why error) {
	w.mu.Lock()
	defer w.mu.Unlock() // also if the logger panics
	for _, o := range orders {
		o.fail(reason(ctx, o.err, why))
		w.count(o)
		if o.waiting != nil && w.all == nil {
			w.gather(o)
		} else {
			w.keep(o)
		}
	}
	w.limit()
	w.tell(why)
}

// settle ends a round that has written the orders' records. An order lands when its cells are
// removed, too. A cell that could not be removed is now older than the record, so every process
// that knows the record refuses it. The cleaner retries the cell. After that the record is written
// again, because the log trims records one day.
func (w *Follower) settle(orders []*order) {
	if len(orders) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var why error
	for _, o := range orders {
		w.write(o)
		if len(o.cells) == 0 {
			w.land(o)
			continue
		}
		why = o.err
		o.fail(why)
		w.count(o)
		w.keep(o)
	}
	w.limit()
	w.tell(why)
	if len(w.dirty) > 0 {
		signal(w.dirtied)
	}
}

// count makes an order pending. mu is held, as for all functions below.
func (w *Follower) count(o *order) {
	if o.pending != nil {
		return
	}
	o.pending, o.since = w.waits.PushBack(o), w.now()
	w.noteOldest()
	w.pending.Add(o.req.Size())
	if o.state == unwritten {
		w.owed.Add(1)
	}
}

// uncount ends an order's pending state: it has landed, or another order replaces it.
func (w *Follower) uncount(o *order) {
	if o.pending == nil {
		return
	}
	w.waits.Remove(o.pending)
	w.noteOldest()
	o.pending = nil
	w.pending.Add(-o.req.Size())
	if o.state == unwritten {
		w.owed.Add(-1)
	}
}

// write notes that an order's record is in the log and applied here.
func (w *Follower) write(o *order) {
	if o.pending != nil && o.state == unwritten {
		w.owed.Add(-1)
	}
	o.state = written
}

// land ends an order, and the orders that it replaces.
func (w *Follower) land(o *order) {
	w.uncount(o)
	if o.waiting != nil {
		w.crowded = false
	}
	o.state = landed
	close(o.landed)
	for other := range o.waiting {
		w.land(other)
	}
}

// limit replaces all waiting orders by one order of everything when too much is pending. Every
// process that knows that order refuses the cells that were not removed.
func (w *Follower) limit() {
	if w.all != nil || w.pending.Load() <= int64(w.cfg.MaxPending) || len(w.queue)+len(w.dirty) == 0 {
		return
	}
	all := w.newOrder(fence.Request{Scopes: []invalidate.Scope{invalidate.All()}})
	all.left, all.waiting = true, map[*order]struct{}{}
	w.count(all)
	w.gather(all)
	if !w.crowded {
		w.crowded = true
		w.cfg.Logger.Warn("invalidate: too many invalidations wait for the log; one invalidation of everything replaces them", "limit", w.cfg.MaxPending)
	}
}

// gather lets an order of everything replace all waiting orders.
func (w *Follower) gather(all *order) {
	orders := append(w.queue, w.dirty...)
	w.queue, w.dirty, w.all = []*order{all}, nil, all
	for _, o := range orders {
		w.absorb(o)
	}
}

// absorb lets the order of everything replace another order. Its age is that of the oldest order that it replaces.
func (w *Follower) absorb(o *order) {
	if o.pending != nil && w.all.pending != nil && o.since < w.all.since {
		w.all.since = o.since
		w.waits.MoveToFront(w.all.pending)
		w.noteOldest()
	}
	if w.all.err == nil {
		w.all.err = o.err
	}
	for other := range o.waiting {
		other.into = w.all
		w.all.waiting[other] = struct{}{}
	}
	if !o.left {
		o.into = w.all
		w.all.waiting[o] = struct{}{}
	}
	w.uncount(o)
	o.state = replaced
}

// tellEvery is how often the logger reports pending invalidations.
const tellEvery = time.Minute

// tell logs that invalidations are pending: when that begins, once a minute, and when it ends. It
// is called at the end of every try, and when a caller leaves.
func (w *Follower) tell(why error) {
	n, now := w.pending.Load(), w.now()+1
	switch {
	case n > 0 && why != nil && (w.logged == 0 || now-w.logged >= int64(tellEvery)):
		w.logged = now
		w.cfg.Logger.Warn("invalidate: invalidations wait for the log or the remote tier; they are applied in this process and retried until they succeed",
			"scopes", n, "age", w.age(), "error", why)
	case n == 0 && w.logged != 0:
		w.logged = 0
		w.cfg.Logger.Info("invalidate: the waiting invalidations have succeeded")
	}
}

// noteOldest notes when the oldest pending order became pending. mu is held.
func (w *Follower) noteOldest() {
	var since int64
	if oldest := w.waits.Front(); oldest != nil {
		since = oldest.Value.(*order).since + 1 //nolint:forcetypeassert // it holds only orders
	}
	w.oldest.Store(since)
}

// age returns how long the oldest pending order has been pending, or 0 if there is none. It takes
// no lock, because mu is held while the logger runs.
func (w *Follower) age() time.Duration {
	since := w.oldest.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(w.now() + 1 - since)
}

// pendingError reports how many scopes are pending, why the call stopped waiting, and the error of
// the last try, if any.
func (w *Follower) pendingError(why, cause error) error {
	if cause != nil {
		why = fmt.Errorf("%w: %w", why, cause)
	}
	return &invalidate.PendingError{Pending: int(w.pending.Load()), Err: why}
}
