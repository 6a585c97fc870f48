package cache

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// tryClaim asks for the right to load. Over a value it asks for a refresh
// claim, so that others go on serving it. When patience is over, or when the
// caller wants a load that begins now, it takes the place of whoever holds it.
// A refusal leaves the frame that stands there in j.first, if it is known.
func (j *job[K, V]) tryClaim(f frame[K, V], over bool) bool {
	over = over || j.minLoaded > -never
	if f.verdict == leased && !over {
		return false
	}
	if f.short && j.t.remote.unlink(j.ctx, j.p.RemoteTimeout, j.text) != nil {
		j.cut = true
		return false
	}
	refresh := f.verdict == usable
	for {
		j.claim = tier.Claim{Seen: f.nonce, Nonce: tier.NewNonce(), Lease: j.t.cfg.ClaimTTL, Refresh: refresh}
		mark := j.t.fences.Capture()
		got, err := j.t.remote.claim(j.ctx, j.p.RemoteTimeout, j.text, j.claim)
		if err != nil {
			j.cut = true
			return false
		}
		if got.Granted {
			j.claimed = true
			return true
		}
		if len(got.Cell) > 0 {
			first, err := j.assess(j.ctx, got.Cell, mark)
			if err != nil {
				j.cut = true
				return false
			}
			j.first = &first
		}
		if !refresh || !over {
			return false
		}
		refresh = false
	}
}

// release gives the claim back, so that nobody waits for it to lapse. The
// flight may have been abandoned, so its context is not asked.
func (j *job[K, V]) release() {
	if !j.claimed {
		return
	}
	j.claimed = false
	ctx := context.WithoutCancel(j.ctx)
	// An error leaves the claim to its lease.
	_, _ = j.t.remote.fill(ctx, j.p.RemoteTimeout, j.text, tier.Fill{Nonce: j.claim.Nonce})
}

// keepClaim renews the claim, if there is one, while a load takes long, until stop
// or ctx's end.
func (j *job[K, V]) keepClaim(ctx context.Context) (stop func() bool) {
	every, c := j.t.cfg.ClaimTTL/3, j.claim
	c.Seen = c.Nonce // only while it stands
	var t *time.Timer
	t = time.AfterFunc(time.Hour, func() {
		if ctx.Err() != nil {
			return
		}
		got, err := j.t.remote.claim(ctx, j.p.RemoteTimeout, j.text, c)
		if err == nil && !got.Granted {
			return // the key was invalidated meanwhile; the fill will find out
		}
		t.Reset(every)
	})
	t.Reset(every)
	return t.Stop
}
