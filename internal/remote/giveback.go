package remote

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/tier"
)

const (
	maxGiving = 1024 // groups of claims given back at a time; further ones lapse
	giveTries = 3
)

// GiveBack gives back, in the background, a claim that may be on the key.
func (t *Tier) GiveBack(ctx context.Context, timeout time.Duration, key string, c tier.Claim) {
	t.giveBack(ctx, timeout, []string{key}, []tier.Claim{c}, func(int) bool { return true })
}

// giveBack gives back, in the background, claims whose answers were lost. Otherwise the other
// processes would wait until the claims lapse for a load that never comes. giveBack works even
// while the breaker is open. A claim that the tier does not know may still be on its way there, so
// giveBack tries again.
func (t *Tier) giveBack(ctx context.Context, timeout time.Duration, keys []string, claims []tier.Claim, lost func(i int) bool) {
	var of []string
	var fills []tier.Fill
	for i := range keys {
		if lost(i) {
			of, fills = append(of, keys[i]), append(fills, tier.Fill{Nonce: claims[i].Nonce})
		}
	}
	if len(of) == 0 {
		return
	}
	select {
	case t.giving <- struct{}{}:
	default:
		return
	}
	s := new(calls.Scope)
	s.Detach(ctx)
	if !t.Work.Begin(&s.Task, s) {
		<-t.giving
		return
	}
	go func() {
		defer func() { <-t.giving }()
		defer t.Work.End(&s.Task)
		pause := time.NewTimer(timeout)
		defer pause.Stop()
		for try := 1; ; try++ {
			of, fills = t.unclaim(s, timeout, of, fills)
			if len(of) == 0 || try == giveTries {
				return
			}
			select {
			case <-pause.C:
				pause.Reset(timeout)
			case <-s.Done():
				return
			}
		}
	}()
}

// unclaim gives claims back. It returns those that the tier did not have or that could not be
// reached.
func (t *Tier) unclaim(ctx context.Context, timeout time.Duration, keys []string, fills []tier.Fill) (left []string, rest []tier.Fill) {
	for from := 0; from < len(keys); from += maxKeys {
		to := min(from+maxKeys, len(keys))
		done := t.unclaimSome(ctx, timeout, keys[from:to], fills[from:to])
		for i := from; i < to; i++ {
			if i-from >= len(done) || !done[i-from] {
				left, rest = append(left, keys[i]), append(rest, fills[i])
			}
		}
	}
	return left, rest
}

// unclaimSome gives back the claims of one command. It bypasses the breaker.
func (t *Tier) unclaimSome(ctx context.Context, timeout time.Duration, keys []string, fills []tier.Fill) (done []bool) {
	c := call{t: t, d: new(calls.Deadline), op: Fill, timeout: timeout}
	c.start(ctx)
	err := errExited
	defer c.end(&err)
	done = make([]bool, len(keys))
	err = t.Tier.Fill(c.ctx, keys, fills, done)
	return done
}
