package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/tier"
)

// maxKeys is how many keys one command to the remote tier is about: more would hold up the
// tier's other callers.
const maxKeys = 1000

// errUnavailable stands for a call that was not made: the breaker is open.
var errUnavailable = errors.New("cache: remote tier unavailable")

// leftError is the error of a call that ended because its caller left or ran out of time.
// It says nothing about the tier.
type leftError struct{ error }

func (e leftError) Unwrap() error { return e.error }

// left reports whether a remote call failed because of its caller.
func left(err error) bool {
	_, ok := errors.AsType[leftError](err)
	return ok
}

// remote is the shared tier behind a deadline of its own, a breaker and the
// instruments. Nil means that there is none.
type remote struct {
	tier    tier.Remote
	breaker breaker
	seen    *telemetry
	work    *scope.Work
	giving  chan struct{} // one for each group of claims being given back
}

func newRemote(t *Tiers) *remote {
	if t.cfg.Remote == nil {
		return nil
	}
	return &remote{
		tier: t.cfg.Remote, breaker: breaker{now: t.now, log: t.log}, seen: t.seen, work: &t.work,
		giving: make(chan struct{}, maxGiving),
	}
}

// remoteCall is one call to the remote tier under way.
type remoteCall struct {
	r       *remote
	ctx     context.Context
	d       *scope.Deadline
	timeout time.Duration
	pass    pass
	counted bool // the breaker is told how it ends
	span    remoteSpan
}

// begin begins a call, unless the breaker is open. An invalidation is always worth a try.
func (r *remote) begin(parent context.Context, d *scope.Deadline, op remoteOp, timeout time.Duration) (c remoteCall, err error) {
	c = remoteCall{r: r, d: d, timeout: timeout}
	if c.pass, c.counted = r.breaker.enter(); !c.counted && op != opUnlink {
		return c, errUnavailable
	}
	c.start(parent, op)
	return c, nil
}

func (c *remoteCall) start(parent context.Context, op remoteOp) {
	work := c.r.work
	if op == opFill { // a process that ends still gives back what it has claimed
		work = nil
	}
	c.d.Start(parent, c.timeout, work)
	c.ctx, c.span = c.r.seen.remoteStart(c.d, op)
}

// end ends the call. It is deferred: a panic of the client library becomes an error, as
// go-redis v9.23 panics on some malformed replies.
func (c *remoteCall) end(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("cache: remote tier panicked (%T)", p)
	}
	how := c.d.Finish(*err)
	c.r.seen.remoteEnd(c.ctx, c.span, *err, how.Left())
	if how.Left() {
		*err = leftError{*err}
	}
	if !c.counted {
		return
	}
	if c.span.op == opUnlink && how == scope.Failed {
		// A cell on a node that hangs is tried again and again. That must not keep reads
		// from the other nodes.
		how = scope.Canceled
	}
	c.r.breaker.leave(c.pass, how, c.timeout)
}

func (r *remote) get(ctx context.Context, d *scope.Deadline, timeout time.Duration, key string) (b []byte, err error) {
	c, err := r.begin(ctx, d, opGet, timeout)
	if err != nil {
		return nil, err
	}
	defer c.end(&err)
	return r.tier.Get(c.ctx, key)
}

func (r *remote) unlink(ctx context.Context, timeout time.Duration, keys ...string) (err error) {
	c, err := r.begin(ctx, new(scope.Deadline), opUnlink, timeout)
	if err != nil {
		return err
	}
	defer c.end(&err)
	return r.tier.Unlink(c.ctx, keys...)
}

// The batch calls return an answer for each key beside an error: some keys may have been
// answered. What fails ends them, so that they spend one deadline.

func (r *remote) getMany(ctx context.Context, timeout time.Duration, keys []string) ([][]byte, error) {
	cells, _, err := inChunks(r, ctx, opGet, timeout, len(keys), func(ctx context.Context, from, to int) ([][]byte, error) {
		return tier.GetMany(ctx, r.tier, keys[from:to])
	})
	return cells, err
}

func (r *remote) claimMany(ctx context.Context, timeout time.Duration, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	got, asked, err := inChunks(r, ctx, opClaim, timeout, len(keys), func(ctx context.Context, from, to int) ([]tier.Claimed, error) {
		if len(keys) == 1 {
			one, err := r.tier.Claim(ctx, keys[0], claims[0])
			return []tier.Claimed{one}, err
		}
		return tier.ClaimMany(ctx, r.tier, keys[from:to], claims[from:to])
	})
	if err != nil && !errors.Is(err, errUnavailable) {
		r.giveBack(ctx, timeout, keys, claims, func(i int) bool {
			// A renewal's caller has the claim already.
			return i < asked && !got[i].Granted && claims[i].Seen != claims[i].Nonce
		})
	}
	return got, err
}

func (r *remote) fillMany(ctx context.Context, timeout time.Duration, keys []string, fills []tier.Fill) ([]bool, error) {
	ok, _, err := inChunks(r, ctx, opFill, timeout, len(keys), func(ctx context.Context, from, to int) ([]bool, error) {
		if len(keys) == 1 {
			one, err := r.tier.Fill(ctx, keys[0], fills[0])
			return []bool{one}, err
		}
		return tier.FillMany(ctx, r.tier, keys[from:to], fills[from:to])
	})
	if err != nil { // the claims may stand; a value that was stored after all stays
		claims := make([]tier.Claim, len(fills))
		for i, f := range fills {
			claims[i].Nonce = f.Nonce
		}
		r.giveBack(ctx, timeout, keys, claims, func(i int) bool { return !ok[i] })
	}
	return ok, err
}

// inChunks makes one call for each maxKeys of n keys, and says how many keys it came to. It
// stops when it has failed and the tier has had its time. What merely fails for some keys,
// as they are on a node that is down, does not keep the others.
func inChunks[T any](
	r *remote, ctx context.Context, op remoteOp, timeout time.Duration, n int,
	f func(ctx context.Context, from, to int) ([]T, error),
) (all []T, asked int, err error) {
	all = make([]T, n)
	over := time.Now().Add(timeout)
	for asked < n && (err == nil || time.Now().Before(over)) {
		from, to := asked, min(asked+maxKeys, n)
		some, e := chunk(r, ctx, op, timeout, func(ctx context.Context) ([]T, error) { return f(ctx, from, to) })
		if errors.Is(e, errUnavailable) { // it was not asked
			return all, asked, cmp.Or(err, e)
		}
		copy(all[from:to], some)
		asked = to
		if err = errors.Join(err, e); left(e) {
			break
		}
	}
	return all, asked, err
}

func chunk[T any](r *remote, ctx context.Context, op remoteOp, timeout time.Duration, f func(context.Context) ([]T, error)) (some []T, err error) {
	c, err := r.begin(ctx, new(scope.Deadline), op, timeout)
	if err != nil {
		return nil, err
	}
	defer c.end(&err)
	return f(c.ctx)
}
