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

// errLeft is wrapped by the error of a call that its caller ended, by a deadline or a
// cancellation. It says nothing about the tier.
var errLeft = errors.New("cache: the caller left")

// remote is the shared tier behind a deadline of its own, a breaker and the
// instruments. Nil means that there is none.
type remote struct {
	tier    tier.Remote
	breaker breaker
	seen    *telemetry
}

func newRemote(t *Tiers, remoteTier tier.Remote) *remote {
	if remoteTier == nil {
		return nil
	}
	return &remote{tier: remoteTier, seen: t.seen, breaker: breaker{now: t.now, changed: func(from, to string) {
		t.log.Warn("cache: remote tier breaker", "from", from, "to", to)
	}}}
}

// call runs one remote operation, unless the breaker is open. An invalidation is
// always worth a try.
func (r *remote) call(ctx context.Context, op remoteOp, timeout time.Duration, f func(context.Context) error) error {
	if r.breaker.enter() {
		begun := r.breaker.now()
		end := callFailed // also if it does not return
		defer func() { r.breaker.leave(end, begun, timeout) }()
		var err error
		end, err = r.once(ctx, op, timeout, f)
		return err
	}
	if op == opUnlink {
		_, err := r.once(ctx, op, timeout, f)
		return err
	}
	return errUnavailable
}

// once runs one remote operation under its own deadline. A panic of the client
// library becomes an error: go-redis v9.23 panics on some malformed replies.
func (r *remote) once(parent context.Context, op remoteOp, timeout time.Duration, f func(context.Context) error) (end callEnd, err error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	ctx, span := r.seen.remoteStart(ctx, op)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cache: remote tier panicked (%T)", p)
		}
		end = endOf(parent, begun, timeout, err)
		left := end == callShort || end == callLeft
		if left {
			err = fmt.Errorf("%w: %w", errLeft, err)
		}
		r.seen.remoteEnd(ctx, span, err, left)
	}()
	return callOK, f(ctx)
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
	return got, err
}

func (r *remote) fill(ctx context.Context, timeout time.Duration, key string, f tier.Fill) (ok bool, err error) {
	err = r.call(ctx, opFill, timeout, func(ctx context.Context) error {
		ok, err = r.tier.Fill(ctx, key, f)
		return err
	})
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
	return got, err
}

func (r *remote) fillMany(ctx context.Context, timeout time.Duration, keys []string, f []tier.Fill) (ok []bool, err error) {
	err = r.call(ctx, opFill, timeout, func(ctx context.Context) error {
		ok, err = tier.FillMany(ctx, r.tier, keys, f)
		return err
	})
	return ok, err
}
