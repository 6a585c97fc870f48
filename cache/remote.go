package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/twofold-go/twofold/tier"
)

// errUnavailable stands for a call that was not made: the breaker is open.
var errUnavailable = errors.New("cache: remote tier unavailable")

const (
	breakerTrips = 5           // failures in a row that open it
	breakerRest  = time.Second // until one call may try again
)

// remote is the shared tier behind a deadline of its own, a breaker and the
// instruments. Nil means that there is none.
type remote struct {
	tier    tier.Remote
	breaker *gobreaker.CircuitBreaker[struct{}]
	seen    *telemetry
}

func newRemote(t tier.Remote, log *slog.Logger, seen *telemetry) *remote {
	if t == nil {
		return nil
	}
	b := gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:        "remote",
		Timeout:     breakerRest,
		ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakerTrips },
		IsExcluded:  func(err error) bool { return errors.Is(err, context.Canceled) },
		OnStateChange: func(_ string, from, to gobreaker.State) {
			log.Warn("cache: remote tier breaker", "from", from.String(), "to", to.String())
		},
	})
	return &remote{tier: t, breaker: b, seen: seen}
}

// call runs one remote operation, unless the breaker is open. An invalidation is
// always worth a try.
func (r *remote) call(ctx context.Context, op remoteOp, timeout time.Duration, f func(context.Context) error) (err error) {
	refused := true
	_, _ = r.breaker.Execute(func() (struct{}, error) {
		var left bool
		refused = false
		if left, err = r.once(ctx, op, timeout, f); left {
			return struct{}{}, context.Canceled // says nothing about the tier
		}
		return struct{}{}, err
	})
	switch {
	case !refused:
		return err
	case op == opUnlink:
		_, err = r.once(ctx, op, timeout, f)
		return err
	}
	return errUnavailable
}

// once runs one remote operation under its own deadline. A panic of the client
// library becomes an error: go-redis v9.23 panics on some malformed replies. It
// reports whether the caller left, or the load ended.
func (r *remote) once(parent context.Context, op remoteOp, timeout time.Duration, f func(context.Context) error) (left bool, err error) {
	ctx, cancel := context.WithTimeout(parent, timeout)
	defer cancel()
	ctx, span := r.seen.remoteStart(ctx, op)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cache: remote tier panicked (%T)", p)
		}
		left = err != nil && parent.Err() != nil
		r.seen.remoteEnd(ctx, span, err, left)
	}()
	return false, f(ctx)
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
