package cache

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/tier"
)

const (
	maxGiving = 1024 // groups of claims given back at a time; the others lapse
	giveTries = 3
)

// mayStand reports whether a claim may have been granted although its caller does not
// know. A renewal is no such claim: its caller has the claim already.
func (r *remote) mayStand(c tier.Claim, got tier.Claimed, err error) bool {
	return err != nil && !errors.Is(err, errUnavailable) && !got.Granted && c.Seen != c.Nonce
}

// giveBack gives claims back whose answers were lost, in the background. Otherwise the
// other processes would wait for a load that does not come, until the claims lapse. It is
// tried even when the breaker is open. A claim that the tier does not know may still be on
// its way there, so it is tried again.
func (r *remote) giveBack(ctx context.Context, timeout time.Duration, keys []string, nonces []tier.Nonce) {
	select {
	case r.giving <- struct{}{}:
	default:
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	run := &running{flight.CancelFunc(cancel)}
	if !r.work.begin(run) {
		cancel()
		<-r.giving
		return
	}
	go func() {
		defer func() { <-r.giving }()
		defer r.work.end(run)
		defer cancel()
		pause := time.NewTimer(timeout)
		defer pause.Stop()
		for try := 1; ; try++ {
			keys, nonces = r.unclaim(ctx, timeout, keys, nonces)
			if len(keys) == 0 || try == giveTries {
				return
			}
			select {
			case <-pause.C:
				pause.Reset(timeout)
			case <-ctx.Done():
				return
			}
		}
	}()
}

// unclaim gives claims back and returns those that were not there, or not reached.
func (r *remote) unclaim(ctx context.Context, timeout time.Duration, keys []string, nonces []tier.Nonce) ([]string, []tier.Nonce) {
	fills := make([]tier.Fill, len(keys))
	for i, n := range nonces {
		fills[i] = tier.Fill{Nonce: n}
	}
	var done []bool
	_, _ = r.once(ctx, opFill, timeout, func(ctx context.Context) (err error) {
		done, err = tier.FillMany(ctx, r.tier, keys, fills)
		return err
	})
	var left []string
	var rest []tier.Nonce
	for i, k := range keys {
		if i >= len(done) || !done[i] {
			left, rest = append(left, k), append(rest, nonces[i])
		}
	}
	return left, rest
}
