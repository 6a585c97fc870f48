package follow

import (
	"context"
	"fmt"
	"time"
)

// Landed waits until no invalidation of this process is pending that was pending at since. It returns
// the moment from which Outwait must count: since, or when the last one landed. If ctx ends first, the
// error is a [*invalidate.PendingError].
func (w *Follower) Landed(ctx context.Context, since int64) (from int64, err error) {
	for from = since; ; from = w.now() {
		over, cause := w.unlanded(since)
		if over == nil {
			return from, nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return from, w.pendingError(ctx.Err(), cause)
		case <-w.stop:
			return from, ErrClosed
		}
	}
}

// unlanded looks for an order that has been pending since then or longer. It returns the end of the
// round under way, or of the next one, and why the order's last try failed. A nil channel means that
// there is no such order. Orders land only in rounds.
func (w *Follower) unlanded(since int64) (over <-chan struct{}, cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for e := w.waits.Front(); e != nil; e = e.Next() {
		if o := e.Value.(*order); o.since <= since { //nolint:forcetypeassert // it holds only orders
			return w.attempt.over, o.err
		}
	}
	return nil, nil
}

// Outwait waits until every lease that was confirmed before since has ended, in all processes.
// After a Confirm it knows how long the leases of other processes may last.
func (w *Follower) Outwait(ctx context.Context, since int64) error {
	// The clocks of two processes differ in rate by less than 1/drift.
	const drift = 1000
	left := max(w.bound, time.Duration(w.widest.Load())) - time.Duration(w.now()-since)
	t := time.NewTimer(left + left/drift + time.Millisecond)
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
