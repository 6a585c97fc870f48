package follow

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
)

// orderState says how far an order has come.
type orderState uint8

const (
	unwritten orderState = iota // its record is not in the log, as far as this process knows
	written                     // its record is in the log and applied here; cells may be left
	replaced                    // an order of everything goes in its place
	landed                      // done, for all processes
)

// order is an invalidation on its way into the log.
type order struct {
	req     fence.Request
	cells   []string // still to be removed from the remote tier; only the goroutine that has the order reads it
	refused bool     // a round has failed, and the request is applied here; used by rounds only
	landed  chan struct{}

	// Follower.mu protects the rest.
	err     error // why the last try failed
	state   orderState
	left    bool                // its caller has returned
	pending *list.Element       // in Follower.waits; nil: not pending
	since   int64               // when it became pending
	into    *order              // the order of everything that replaces it
	waiting map[*order]struct{} // for an order of everything: the replaced orders whose callers still wait
}

func (w *Follower) newOrder(r fence.Request) *order {
	o := &order{req: r, landed: make(chan struct{})}
	if w.cfg.Remove != nil && !r.Removed && !r.Soft {
		o.cells = r.Keys()
	}
	return o
}

// invalidate is Invalidate for one order, whose cells are removed.
func (w *Follower) invalidate(ctx context.Context, o *order, until time.Time) error {
	if err := w.enqueue(o); err != nil {
		w.fences.Apply(o.req)
		return err
	}
	w.lead(ctx, until)
	if why := w.await(ctx, o, until); why != nil {
		return w.leave(o, why)
	}
	return nil
}

// Until returns when a call of Invalidate that begins now stops waiting for the log.
func (w *Follower) Until() time.Time { return time.Now().Add(w.wait) }

// await waits for an order to land. Otherwise it returns why it stopped waiting.
func (w *Follower) await(ctx context.Context, o *order, until time.Time) error {
	select {
	case <-o.landed:
		return nil
	default:
	}
	patience := time.NewTimer(time.Until(until))
	defer patience.Stop()
	select {
	case <-o.landed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-patience.C:
		return fmt.Errorf("not completed within %v", w.wait)
	case <-w.stop:
		return ErrClosed
	}
}

// reason chooses between the errors of two tries. If ctx cut the second try short, the first error
// is more useful.
func reason(ctx context.Context, before, now error) error {
	if before != nil && ctx.Err() != nil {
		return before
	}
	return now
}

// fail notes the error of a failed try, for the orders that o replaces, too. Follower.mu is held.
func (o *order) fail(why error) {
	o.err = why
	for other := range o.waiting {
		other.fail(why)
	}
}

// leave is called when a caller returns before its order has landed. From then on the process owes
// the order. The debt is noted before the fence, so a read that is marked as newer than the fence
// sees the debt. leave returns nil if the order has landed meanwhile.
func (w *Follower) leave(o *order, why error) error {
	err := w.owe(o, why)
	if err != nil {
		w.fences.Apply(o.req) // even if no other process gets it
	}
	return err
}

// owe notes the debt of leave, and returns the caller's error.
func (w *Follower) owe(o *order, why error) error {
	w.mu.Lock()
	defer w.mu.Unlock() // also if the logger panics
	if o.state == landed {
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
	w.tell(cause)
	if cause != nil && o.state != written {
		cause = ofAll{cause}
	}
	return w.pendingError(why, cause)
}

// ofAll is the error of removing some cells of an order whose record is not in the log either. So it
// concerns all keys of the order, and errors.As must not find the keys that it names.
type ofAll struct{ error }

// Is implements the interface of errors.Is.
func (e ofAll) Is(target error) bool { return errors.Is(e.error, target) }

// lead makes the round for the caller's order, if no other round is under way. To pass the round to
// the syncer would take as long as the round itself. The round ends when the caller's time is over.
// The syncer, which has more time, then makes another.
//
// A caller whose context may be cancelled waits for the round beside it: a log may hang, and may
// notice deadlines only.
func (w *Follower) lead(ctx context.Context, until time.Time) {
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(until) {
		until = deadline
	}
	select {
	case w.turn <- struct{}{}:
	default:
		w.rouse() // another round follows the one under way
		return
	}
	switch {
	case ctx.Err() != nil || !w.mayLead(time.Until(until)):
		<-w.turn
		w.rouse()
	case ctx.Done() == nil:
		w.leadRound(until)
	default:
		w.leadBeside(ctx, until)
	}
}

// leadRound makes a round for a caller, who has the turn, and ends the turn.
func (w *Follower) leadRound(until time.Time) {
	err := errExited
	defer func() {
		if <-w.turn; err != nil {
			w.rouse()
		}
	}()
	_, err = w.round(w.ctx, until)
}

// leadBeside is leadRound in another goroutine, which goes on if ctx is cancelled. It reports whether
// the round is over.
func (w *Follower) leadBeside(ctx context.Context, until time.Time) (over bool) {
	end := make(chan struct{})
	go func() {
		defer close(end)
		w.leadRound(until)
	}()
	select {
	case <-end:
		return true
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			<-end // the round ends by the same time, and knows why
			return true
		}
		return false
	}
}

// mayLead reports whether a caller with this time left should make a round: the log answered the
// last round, and fast enough that the caller's time suffices for this one. When rounds take long,
// the syncer's goroutine adds little to them.
func (w *Follower) mayLead(left time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastErr == nil && !w.closed && left > 4*w.took
}
