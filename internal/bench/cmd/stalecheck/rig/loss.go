package rig

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/redistest"
)

// lossTime is for how long writes are taken that will be lost.
func (r *Rig) lossTime() time.Duration { return r.between(300*time.Millisecond, 1500*time.Millisecond) }

// oldDump brings the server back as it was a while ago.
func oldDump(ctx context.Context, r *Rig) string {
	return "Redis back with an old dump" + r.lose(ctx, func() {
		r.primary.Do(r.t, "SAVE")
	}, func() {
		r.primary.Kill(r.t)
		r.primary.Restart(r.t)
	})
}

// failover promotes a replica that had stopped following a while ago.
func failover(ctx context.Context, r *Rig) string {
	what := r.lose(ctx, func() {
		r.replica.Do(r.t, "REPLICAOF", "NO", "ONE")
	}, func() {
		r.primary.Kill(r.t)
		r.primary, r.replica = r.replica, r.primary
		for _, p := range r.proxies {
			p.Retarget(r.primary.Addr())
		}
	})
	r.sleep(ctx, short)
	r.replica.Restart(r.t)
	r.follow(r.replica, r.primary)
	return "failover to a replica that lags" + what
}

// lose takes writes between fork and swap that nobody will know of afterwards.
//
// A worker that has seen them tells the log as soon as it comes back, by being
// ahead of it. So every other time those who have are kept away for a while,
// and the first to come is one that has slept since before the fork: only the
// server itself can tell it that something is missing.
func (r *Rig) lose(ctx context.Context, fork, swap func()) string {
	r.losses++
	if r.losses%2 == 0 {
		fork()
		r.sleep(ctx, r.lossTime())
		swap()
		reconnect(r.proxies...)
		return ""
	}
	i := r.rng.IntN(len(r.proxies))
	others := slices.Concat(r.proxies[:i], r.proxies[i+1:])
	r.check(r.crew.Pause(i))
	fork()
	r.sleep(ctx, r.lossTime())
	for _, p := range others {
		p.BlackHole()
	}
	swap()
	reconnect(r.proxies[i])
	r.check(r.crew.Resume(i))
	r.sleep(ctx, r.lossTime())
	reconnect(others...)
	return fmt.Sprintf(", found by worker %d, which has seen nothing of what was lost", i)
}

// reconnect ends connections to a server that is no more.
func reconnect(proxies ...*redistest.Proxy) {
	for _, p := range proxies {
		p.Drop()
		p.Pass()
	}
}
