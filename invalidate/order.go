package invalidate

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// order is an invalidation on its way into the log.
type order struct {
	req     Request
	cells   []string // still to be removed from the remote tier
	refused bool     // a try has failed
	landed  chan struct{}
	strict  time.Duration // once landed: how long any lease may last that predates it
	instead []*order      // that this one took the place of
}

func newOrder(r Request) *order {
	o := &order{req: r, landed: make(chan struct{})}
	if !r.Removed {
		o.cells = r.Keys()
	}
	return o
}

func (o *order) land(widest time.Duration) {
	o.strict = widest
	close(o.landed)
	for _, other := range o.instead {
		other.land(widest)
	}
}

// Invalidate removes the cells of the keys that r names, appends r to the log
// and applies it here. When it returns nil, every process that follows the log
// has applied it, or will refuse to serve anything it has cached, within the
// bound from now; with r.Strict, now.
//
// While the log or the remote tier cannot be reached it keeps trying, until ctx
// ends or the bound has passed. Then it returns a [*PendingError]: r is applied
// in this process, and goes on being tried. A ctx that is cancelled, rather than
// past its deadline, may be noticed only when the call to the log under way
// ends, which takes half of the bound at the worst.
func (w *Follower) Invalidate(ctx context.Context, r Request) error {
	if len(r.Scopes) == 0 {
		return nil
	}
	o := newOrder(r)
	if err := w.enqueue(o); err != nil {
		return err
	}
	w.lead(ctx)
	select {
	case <-o.landed:
		if !r.Strict {
			return nil
		}
	default:
	}
	patience := time.NewTimer(w.bound)
	defer patience.Stop()
	var why error
	select {
	case <-o.landed:
		if r.Strict {
			return w.outwait(ctx, o.strict)
		}
		return nil
	case <-ctx.Done():
		why = ctx.Err()
	case <-patience.C:
		why = errors.New("no answer in time")
	case <-w.stop:
		why = ErrFollowerClosed
	}
	w.fences.Apply(r) // whatever becomes of it elsewhere
	return w.pendingError(why)
}

// outwait waits until every lease has ended that was confirmed before.
func (w *Follower) outwait(ctx context.Context, bound time.Duration) error {
	// The clocks of two processes run at rates that differ by less than this.
	const drift = 1000
	t := time.NewTimer(bound + bound/drift + time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("invalidate: waiting for leases to end: %w", ctx.Err())
	case <-w.stop:
		return fmt.Errorf("invalidate: waiting for leases to end: %w", ErrFollowerClosed)
	}
}

func (w *Follower) enqueue(o *order) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return ErrFollowerClosed
	}
	w.queue = append(w.queue, o)
	return nil
}

// lead makes the round that the caller's order goes with on the caller's own
// goroutine, when nobody else is at it: to have it made and to be told would
// take as long as the round itself. Whoever has little time leaves it to the
// syncer, since a round that has begun is not given up.
func (w *Follower) lead(ctx context.Context) {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < w.bound/2 {
		w.rouse()
		return
	}
	select {
	case w.turn <- struct{}{}:
	default:
		w.rouse() // behind the round under way comes another
		return
	}
	ok := w.healthy()
	if ok {
		_, err := w.round(w.ctx)
		ok = err == nil
	}
	<-w.turn
	if !ok {
		w.rouse()
	}
}

// healthy reports whether the log answered the last time.
func (w *Follower) healthy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastErr == nil && w.owedSize == 0 && !w.closed
}

func (w *Follower) pendingError(why error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := &PendingError{Pending: w.owedSize, Err: why}
	for _, o := range w.queue {
		e.Pending += len(o.req.Scopes)
	}
	if w.owedErr != nil {
		e.Err = fmt.Errorf("%w: %w", why, w.owedErr)
	}
	return e
}

// takeOrders returns everything that waits to be tried, oldest first.
func (w *Follower) takeOrders() []*order {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := append(w.owed, w.queue...)
	w.owed, w.queue = nil, nil
	return all
}

// giveBack keeps the orders that did not land, for another try. It applies them
// here, since their callers may not wait for it.
func (w *Follower) giveBack(orders []*order, why error) {
	for _, o := range orders {
		if !o.refused {
			o.refused = true
			w.fences.Apply(o.req)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	size := 0
	for _, o := range orders {
		size += len(o.req.Scopes)
	}
	if size > w.cfg.MaxPending {
		orders = []*order{collapse(orders)}
		size = 1
		w.fences.Flush()
		w.cfg.Logger.Warn("invalidate: too many invalidations wait for the log; they are given up for one of everything", "limit", w.cfg.MaxPending)
	}
	w.setOwed(orders, size, why)
}

// setOwed keeps what is owed, and says when that begins and when it ends. mu is
// held.
func (w *Follower) setOwed(orders []*order, size int, why error) {
	switch {
	case w.owedSize == 0 && size > 0:
		w.cfg.Logger.Warn("invalidate: invalidations wait for the log or the remote tier", "scopes", size, "error", why)
	case w.owedSize > 0 && size == 0:
		w.cfg.Logger.Info("invalidate: the invalidations that waited are through")
	}
	w.owed, w.owedSize, w.owedErr = orders, size, why
	w.pending.Store(int64(size))
}

// collapse replaces orders by one that covers them all. Cells that were not
// removed are refused by every process that knows of it.
func collapse(orders []*order) *order {
	all := newOrder(Request{Scopes: []Scope{All()}})
	all.refused = true
	for _, o := range orders {
		all.req.Hold = max(all.req.Hold, o.req.Hold)
		all.instead = append(all.instead, o)
	}
	return all
}
