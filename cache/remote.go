package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/tier"
)

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
	work    *work
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

// call runs one remote operation, unless the breaker is open. An invalidation is
// always worth a try.
func (r *remote) call(ctx context.Context, op remoteOp, timeout time.Duration, f func(context.Context) error) error {
	p, ok := r.breaker.enter()
	if !ok && op != opUnlink {
		return errUnavailable
	}
	how, err := r.once(ctx, op, timeout, f)
	switch {
	case ok && op == opUnlink && how == failed:
		// A cell on a node that hangs is tried again and again. That must not keep reads
		// from the other nodes.
		r.breaker.leave(p, canceled, timeout)
	case ok:
		r.breaker.leave(p, how, timeout)
	}
	if how == expired || how == canceled {
		return leftError{err}
	}
	return err
}

// once runs one remote operation under its own deadline. A panic of the client
// library becomes an error: go-redis v9.23 panics on some malformed replies.
func (r *remote) once(parent context.Context, op remoteOp, timeout time.Duration, f func(context.Context) error) (how ending, err error) {
	d := newDeadline(parent, timeout)
	ctx, span := r.seen.remoteStart(d, op)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cache: remote tier panicked (%T)", p)
		}
		how = d.finish(err)
		r.seen.remoteEnd(ctx, span, err, how == expired || how == canceled)
	}()
	return answered, f(ctx)
}

func (r *remote) get(ctx context.Context, timeout time.Duration, key string) (b []byte, err error) {
	err = r.call(ctx, opGet, timeout, func(ctx context.Context) error {
		b, err = r.tier.Get(ctx, key)
		return err
	})
	return b, err
}

func (r *remote) claim(ctx context.Context, timeout time.Duration, key string, c tier.Claim) (got tier.Claimed, err error) {
	err = r.call(ctx, opClaim, timeout, func(ctx context.Context) error {
		got, err = r.tier.Claim(ctx, key, c)
		return err
	})
	if r.mayStand(c, got, err) {
		r.giveBack(ctx, timeout, []string{key}, []tier.Nonce{c.Nonce})
	}
	return got, err
}

func (r *remote) fill(ctx context.Context, timeout time.Duration, key string, f tier.Fill) (ok bool, err error) {
	err = r.call(ctx, opFill, timeout, func(ctx context.Context) error {
		ok, err = r.tier.Fill(ctx, key, f)
		return err
	})
	if err != nil { // the claim may stand; a value that was stored after all stays
		r.giveBack(ctx, timeout, []string{key}, []tier.Nonce{f.Nonce})
	}
	return ok, err
}

func (r *remote) unlink(ctx context.Context, timeout time.Duration, keys ...string) error {
	return r.call(ctx, opUnlink, timeout, func(ctx context.Context) error {
		return r.tier.Unlink(ctx, keys...)
	})
}

// The batch calls return what they got beside an error: some keys may have
// been answered.

func (r *remote) getMany(ctx context.Context, timeout time.Duration, keys []string) (b [][]byte, err error) {
	err = r.call(ctx, opGet, timeout, func(ctx context.Context) error {
		b, err = tier.GetMany(ctx, r.tier, keys)
		return err
	})
	return b, err
}

func (r *remote) claimMany(ctx context.Context, timeout time.Duration, keys []string, c []tier.Claim) (got []tier.Claimed, err error) {
	err = r.call(ctx, opClaim, timeout, func(ctx context.Context) error {
		got, err = tier.ClaimMany(ctx, r.tier, keys, c)
		return err
	})
	var lost []string
	var nonces []tier.Nonce
	for i := range c {
		var answer tier.Claimed
		if i < len(got) {
			answer = got[i]
		}
		if r.mayStand(c[i], answer, err) {
			lost, nonces = append(lost, keys[i]), append(nonces, c[i].Nonce)
		}
	}
	if len(lost) > 0 {
		r.giveBack(ctx, timeout, lost, nonces)
	}
	return got, err
}

func (r *remote) fillMany(ctx context.Context, timeout time.Duration, keys []string, f []tier.Fill) (ok []bool, err error) {
	err = r.call(ctx, opFill, timeout, func(ctx context.Context) error {
		ok, err = tier.FillMany(ctx, r.tier, keys, f)
		return err
	})
	if err != nil {
		var lost []string
		var nonces []tier.Nonce
		for i := range f {
			if i >= len(ok) || !ok[i] {
				lost, nonces = append(lost, keys[i]), append(nonces, f[i].Nonce)
			}
		}
		r.giveBack(ctx, timeout, lost, nonces)
	}
	return ok, err
}
