package follow

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// order is an invalidation on its way into the log.
type order struct {
	req     Request
	cells   []string // still to be removed from the remote tier; only the goroutine that has the order looks
	refused bool     // a round has failed, and the request is applied here; the round's own
	landed  chan struct{}
	strict  time.Duration // once landed: how long any lease may last that predates it

	// Follower.mu protects the rest.
	err     error               // why the last try failed
	done    bool                // it has landed
	left    bool                // its caller has returned
	counted bool                // among what is pending
	written bool                // its record is in the log
	into    *order              // the one of everything that stands for it
	waiting map[*order]struct{} // of one of everything: what it stands for whose callers still wait
}

func (w *Follower) newOrder(r Request) *order {
	o := &order{req: r, landed: make(chan struct{})}
	if w.cfg.Remove != nil && !r.Removed && !r.Soft {
		o.cells = r.Keys()
	}
	return o
}

// Invalidate removes the cells of the keys that r names, appends r to the log
// and applies it here. When it returns nil, every process that follows the log
// has applied it, or will refuse to serve anything it has cached, within the
// bound from now; with r.Strict, now.
//
// While the log or the remote tier cannot be reached it keeps trying, until ctx
// ends or the bound has passed. Then it returns a [*PendingError]: r is applied
// in this process, which owes r from then on ([Follower.Owes]), and r goes on
// being tried. A ctx that is cancelled, rather than past its deadline, may be
// noticed only when the call to the log under way ends, which takes half of the
// bound at the worst.
func (w *Follower) Invalidate(ctx context.Context, r Request) error {
	if len(r.Scopes) == 0 {
		return nil
	}
	o, begun := w.newOrder(r), w.now()
	w.removeFirst(ctx, o)
	if err := w.enqueue(o); err != nil {
		w.fences.Apply(r)
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
	patience := time.NewTimer(w.bound - time.Duration(w.now()-begun))
	defer patience.Stop()
	var why error
	select {
	case <-o.landed:
	case <-ctx.Done():
		why = ctx.Err()
	case <-patience.C:
		why = errors.New("no answer in time")
	case <-w.stop:
		why = ErrClosed
	}
	if why != nil {
		if err := w.leave(o, why); err != nil {
			return err
		}
	}
	if r.Strict {
		return w.outwait(ctx, o.strict)
	}
	return nil
}

// leave is what a caller does that returns before its order has landed. From
// then on the process owes the order. The debt is noted before the fence: a
// read that is marked as newer than the fence finds the debt. It returns nil if
// the order has landed meanwhile.
func (w *Follower) leave(o *order, why error) error {
	w.mu.Lock()
	if o.done {
		w.mu.Unlock()
		return nil
	}
	o.left = true
	cause := o.err
	if o.into != nil {
		cause = o.into.err
		delete(o.into.waiting, o)
	} else {
		w.count(o)
		w.limit()
	}
	err := w.pendingError(why, cause)
	w.mu.Unlock()
	w.fences.Apply(o.req) // whatever becomes of it elsewhere
	return err
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
		return fmt.Errorf("invalidate: waiting for leases to end: %w", ErrClosed)
	}
}

// lead makes the round that the caller's order goes with on the caller's own
// goroutine, when no other is under way. To have the syncer make it would take
// as long as the round itself. A caller that has little time leaves it to the
// syncer, since a round that has begun is not given up.
func (w *Follower) lead(ctx context.Context) {
	deadline, ok := ctx.Deadline()
	if ctx.Err() != nil || (ok && time.Until(deadline) < w.bound/2) {
		w.rouse()
		return
	}
	select {
	case w.turn <- struct{}{}:
	default:
		w.rouse() // behind the round under way comes another
		return
	}
	ok = w.healthy()
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
	return w.lastErr == nil && !w.closed
}
