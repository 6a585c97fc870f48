package follow

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Orders that have not landed are in one of four places: in the queue, in the
// round under way, among the dirty ones, or with the cleaner. An order is
// pending when its caller has left or a try has failed. It is owed when it is
// pending and its record is not in the log: then the remote tier may hold what
// it covers, and no position says so.
//
// MaxPending bounds the scopes that are pending. Beyond it one order of
// everything takes the place of all that wait. It keeps no order whose caller
// has left, so what it costs does not grow. While it waits in the queue it
// takes in every order that comes. Once a round has taken it, it may be in the
// log already, and an order that comes later goes by itself.

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
	case o.written && len(o.cells) > 0:
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

// giveBack keeps the orders of a round that failed, for another try. It applies
// them here, since their callers may not wait for it.
func (w *Follower) giveBack(ctx context.Context, orders []*order, why error) {
	w.mu.Lock()
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
	w.mu.Unlock()
	for _, o := range orders {
		if !o.refused && o.waiting == nil {
			o.refused = true
			w.fences.Apply(o.req)
		}
	}
}

// settle ends a round that has written the orders' records. An order lands when
// its cells are gone, too. A cell that could not be removed is older than the
// record now, so every process that knows the record refuses it. The cleaner
// tries it again, and the record is written again behind it, since records are
// trimmed some day.
func (w *Follower) settle(orders []*order) {
	if len(orders) == 0 {
		return
	}
	widest := max(w.bound, time.Duration(w.widest.Load()))
	w.mu.Lock()
	defer w.mu.Unlock()
	var why error
	for _, o := range orders {
		w.write(o)
		if len(o.cells) == 0 {
			w.land(o, widest)
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

// count puts an order among the pending ones. mu is held, as it is for all that
// follow.
func (w *Follower) count(o *order) {
	if o.pending != nil {
		return
	}
	o.pending, o.since = w.waits.PushBack(o), w.now()
	w.noteOldest()
	w.pending.Add(int64(len(o.req.Scopes)))
	if !o.written {
		w.owed.Add(1)
	}
}

// uncount takes an order from the pending ones: it has landed, or another stands
// for it.
func (w *Follower) uncount(o *order) {
	if o.pending == nil {
		return
	}
	w.waits.Remove(o.pending)
	w.noteOldest()
	o.pending = nil
	w.pending.Add(-int64(len(o.req.Scopes)))
	if !o.written {
		w.owed.Add(-1)
	}
}

// write notes that an order's record is in the log, and applied here.
func (w *Follower) write(o *order) {
	if o.pending != nil && !o.written {
		w.owed.Add(-1)
	}
	o.written = true
}

// land ends an order, and those that it stands for.
func (w *Follower) land(o *order, widest time.Duration) {
	w.uncount(o)
	if o.waiting != nil {
		w.crowded = false
	}
	o.done, o.strict = true, widest
	close(o.landed)
	for other := range o.waiting {
		w.land(other, widest)
	}
}

// limit puts one order of everything in the place of all that wait, when too
// much is pending. Cells that were not removed are refused by every process
// that knows of it.
func (w *Follower) limit() {
	if w.all != nil || w.pending.Load() <= int64(w.cfg.MaxPending) || len(w.queue)+len(w.dirty) == 0 {
		return
	}
	all := w.newOrder(Request{Scopes: []invalidate.Scope{invalidate.All()}})
	all.left, all.waiting = true, map[*order]struct{}{}
	w.count(all)
	w.gather(all)
	if !w.crowded {
		w.crowded = true
		w.cfg.Logger.Warn("invalidate: too many invalidations wait for the log; they are given up for one of everything", "limit", w.cfg.MaxPending)
	}
}

// gather makes one of everything stand for all orders that wait.
func (w *Follower) gather(all *order) {
	orders := append(w.queue, w.dirty...)
	w.queue, w.dirty, w.all = []*order{all}, nil, all
	for _, o := range orders {
		w.absorb(o)
	}
}

// absorb makes the one of everything stand for another order. Of two holds the
// longer counts. It is as old as the oldest for which it stands.
func (w *Follower) absorb(o *order) {
	w.all.req.Hold = max(w.all.req.Hold, o.req.Hold)
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
}

// tellEvery is how often the log is told what waits.
const tellEvery = time.Minute

// tell says that invalidations wait, when that begins and once a minute, and when it
// ends. It is called at the end of every try, and when a caller leaves.
func (w *Follower) tell(why error) {
	n, now := w.pending.Load(), w.now()+1
	switch {
	case n > 0 && why != nil && (w.told == 0 || now-w.told >= int64(tellEvery)):
		w.told = now
		w.cfg.Logger.Warn("invalidate: invalidations wait for the log or the remote tier; they hold in this process, and are tried until they are through",
			"scopes", n, "age", w.age(), "error", why)
	case n == 0 && w.told != 0:
		w.told = 0
		w.cfg.Logger.Info("invalidate: the invalidations that waited are through")
	}
}

// noteOldest notes since when the oldest pending order has been so. mu is held.
func (w *Follower) noteOldest() {
	var since int64
	if oldest := w.waits.Front(); oldest != nil {
		since = oldest.Value.(*order).since + 1 //nolint:forcetypeassert // of orders alone
	}
	w.oldest.Store(since)
}

// age returns how long the oldest pending order has been so; 0: there is none. It takes
// no lock: one is held while the logger runs.
func (w *Follower) age() time.Duration {
	since := w.oldest.Load()
	if since == 0 {
		return 0
	}
	return time.Duration(w.now() + 1 - since)
}

// pendingError says how many scopes are pending, why a call does not wait for
// them, and why its last try failed, if it did.
func (w *Follower) pendingError(why, cause error) error {
	if cause != nil {
		why = fmt.Errorf("%w: %w", why, cause)
	}
	return &invalidate.PendingError{Pending: int(w.pending.Load()), Err: why}
}
