package follow

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// Invalidate removes the cells of the keys that r names, appends r to the log and applies it here.
// When it returns nil, every process that follows the log applies r within the bound from now, or
// refuses to serve anything it has cached. With r.Strict this holds as soon as Invalidate returns.
//
// While the log or the remote tier is unreachable, Invalidate waits until ctx ends or Config.Wait
// has passed since the call. Then it returns a [*invalidate.PendingError]: r is applied in this
// process, which owes r from then on ([Follower.Owes]) and retries it. With r.Strict the error
// means that no lease was waited for, now or later. A cancelled ctx ends the wait for the log at once.
// A removal of cells that hangs may go on for a quarter of the bound.
//
// A request with more than maxOrder scopes takes several orders, and Config.Wait counts anew for the
// cells of each, and after each that has landed. So it may be large, and never waits as a whole.
func (w *Follower) Invalidate(ctx context.Context, r fence.Request) (err error) {
	var strict time.Duration
	orders, until := w.ordersOf(ctx, r)
	for i, o := range orders {
		if i > 0 && err == nil {
			until = earlier(w.Until(), r.Until)
		}
		widest, failed := w.invalidate(ctx, o, until)
		strict, err = max(strict, widest), w.worse(err, failed)
	}
	if err == nil && strict > 0 {
		return w.outwait(ctx, strict)
	}
	return err
}

// ordersOf returns the orders of a request, and until when the first one may wait for the log. It removes
// the cells of all of them first, because the log may be out of reach when the remote tier is not. If some
// cells cannot be removed, the later orders get no further time for theirs.
func (w *Follower) ordersOf(ctx context.Context, r fence.Request) (orders []*order, until time.Time) {
	stuck := false
	for some := range slices.Chunk(r.Scopes, maxOrder) {
		if !stuck {
			until = earlier(w.Until(), r.Until)
		}
		one := r
		one.Scopes = some
		o := w.newOrder(one)
		w.removeFirst(ctx, o, until)
		stuck = stuck || len(o.cells) > 0 && !w.logRemoves(o)
		orders = append(orders, o)
	}
	return orders, until
}

// maxOrder bounds the scopes of one order.
const maxOrder = 2 * invalidate.MaxFences

// worse returns the error of a request whose orders failed with these errors.
func (w *Follower) worse(before, now error) error {
	switch pending, ok := errors.AsType[*invalidate.PendingError](before); {
	case before == nil:
		return now
	case now != nil && ok: // of two lists of keys, errors.As would find one
		return &invalidate.PendingError{Pending: int(w.pending.Load()), Err: ofAll{pending.Err}}
	}
	return before
}

