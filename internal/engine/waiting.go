package engine

import (
	"time"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/tier"
)

// leavesMark reports whether another process may have waited so long for the run's load that it
// could take the process for dead.
func (r *run) leavesMark() bool {
	return !r.claim.Refresh && r.f.j.Core.Now()-r.since >= int64(r.f.j.Core.Config.ClaimTTL)/8
}

// newNonce returns a nonce for a claim over the run's frame.
func (r *run) newNonce() tier.Nonce {
	n := tier.NewNonce()
	if r.frame.Ended || r.tries > 0 {
		copy(n[:], remote.AfterEnded)
	}
	return n
}

// over reports whether the run loads without the claim, or replaces the process that has it. Either
// its caller demands a MaxAge, or the run has waited longer than LoadTimeout: for this claim, or in
// all if the cell that is in its way holds no claim.
//
// No load takes longer, so such a claim does not expire: a server's clock was set back, or another
// program wrote it. A run cannot tell that sooner. The frame of a claim does not change when the
// claim is renewed. If it did, each tier would have to change it, and a waiting process with a
// shorter ClaimTTL than the loading one would replace live claims.
func (r *run) over() bool {
	now := r.f.j.Core.Now()
	since := r.since
	switch {
	case !r.frame.Claimed:
	case r.waits.n > 0 && r.waits.last == r.frame.Nonce:
		since = r.waits.since
	default: // the first look at this claim
		since = now
	}
	return r.f.j.MinLoaded > -resident.Never || now-since > int64(r.f.j.Policy.LoadTimeout)
}

// await makes WAIT the next step, or LOAD. A run waits for one load of another process. If that
// load ended and stored nothing, another process may have claimed the key by now. If the run
// waited for it too, the loads of a fleet would run one after the other. So the run loads beside
// it, without a claim.
//
// A process renews its claim at each third of ClaimTTL, or a little later on a busy machine. So
// a claim outlives its process by about two thirds of ClaimTTL. After a quarter of ClaimTTL the other
// process may be dead. The run then waits for one more claim, so only one process takes over. If the
// next claim follows an ended load, no process died, and the run does not wait for it.
func (r *run) await() {
	w, now, n := &r.waits, r.f.j.Core.Now(), r.frame.Nonce
	if r.f.j.Refreshing != nil {
		r.end(outcome{again: true})
		return
	}
	r.next = toWait
	if !r.frame.Claimed || w.n > 0 && w.last == n {
		return
	}
	most := 1
	if w.n == 1 && now-w.since >= int64(r.f.j.Core.Config.ClaimTTL)/4 && !remote.Follows(n) {
		most = 2
	}
	if r.tries+w.n >= most {
		r.next = toLoad
		return
	}
	*w = waits{n: w.n + 1, last: n, since: now}
}

// wait waits for another process's fill. The first wait is 1 ms. The next ones are a sixteenth
// of the time since the look-up began, at least 2 ms and at most 100 ms. So a short load is
// noticed soon.
func (p *party) wait() {
	r := &p.runs[0]
	waited := time.Duration(r.f.j.Core.Now() - r.since)
	t := time.NewTimer(r.nap)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.Done():
	}
	for i := range p.runs {
		p.runs[i].nap = min(max(2*time.Millisecond, waited/16), 100*time.Millisecond)
		p.runs[i].next = toLook
	}
}
