package follow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

// Invalidate removes the cells of the keys that r names, appends r to the log and applies it here.
// When it returns nil, every process that follows the log applies r within the bound from now, or
// refuses to serve anything it has cached.
//
// While the log or the remote tier is unreachable, Invalidate waits until ctx ends or Config.Wait
// has passed since the call. Then it returns a [*invalidate.PendingError]: r is applied in this
// process, which owes r from then on ([Follower.Owes]) and retries it. A
// cancelled ctx ends the wait for the log immediately. A removal of cells that hangs may go on for a quarter of the bound.
//
// A request with more than maxOrder scopes takes several orders, and Config.Wait counts anew for the
// cells of each, and after each that has landed. So it may be large, and never waits as a whole.
// If it fails, the PendingError wraps a [*PartError].
func (w *Follower) Invalidate(ctx context.Context, r fence.Request) error {
	var bad failures
	orders, until := w.ordersOf(ctx, r)
	for i, o := range orders {
		if i > 0 && bad.first == nil {
			until = earlier(w.Until(), r.Until)
		}
		bad.add(o, w.invalidate(ctx, o, until))
	}
	if len(orders) > 1 {
		return w.inPart(bad)
	}
	return bad.first
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
		stuck = stuck || len(o.cells) > 0 && !w.logRemoves()
		orders = append(orders, o)
	}
	return orders, until
}

// maxOrder bounds the scopes of one order.
const maxOrder = 2 * invalidate.MaxFences

// PartError says what failed of a request that took several orders. The others have landed.
type PartError struct {
	ofAll

	Keys   []string // the keys that failed
	Others bool     // scopes that are no keys have failed, too
}

// failures gathers what failed of a request of several orders.
type failures struct {
	first  error
	keys   []string
	others bool
}

// add adds an order that has ended with err. If the error names keys, the others are done.
func (f *failures) add(o *order, err error) {
	if err == nil {
		return
	}
	f.first = cmp.Or(f.first, err)
	keys := o.req.Keys()
	if failed, known := failedOf(err); known {
		keys = slices.DeleteFunc(keys, func(k string) bool { return !failed[k] })
	} else {
		f.others = f.others || len(keys) < len(o.req.Scopes)
	}
	f.keys = append(f.keys, keys...)
}

// inPart returns the error of a request whose orders failed so. It hides the keys that the first error may
// name, since it concerns more of them.
func (w *Follower) inPart(f failures) error {
	pending, ok := errors.AsType[*invalidate.PendingError](f.first)
	if !ok {
		return f.first
	}
	return w.pendingError(&PartError{ofAll{pending.Err}, f.keys, f.others}, nil)
}
