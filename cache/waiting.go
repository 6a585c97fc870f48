package cache

import (
	"context"
	"time"
)

// over reports whether the run replaces the process that has claimed the key: the run has waited
// longer than LoadTimeout, or its caller demands a MaxAge.
func (r *run[K, V]) over() bool {
	return r.f.j.minLoaded > -never || r.f.j.t.now()-r.since > int64(r.f.j.p.LoadTimeout)
}

// await makes WAIT the next step, or LOAD. A run waits for one load of another process. If that
// load ended and stored nothing, another process may have claimed the key by now. If the run
// waited for it too, the loads of a fleet would run one after the other. So the run loads beside
// it, without a claim.
//
// A process renews its claim at each third of ClaimTTL, or a little later on a busy machine. So
// a claim outlives its process by about two thirds of ClaimTTL. A run that waited for a quarter
// may have waited for a dead process. It waits once more, so that one process takes over and not
// all of them. If the load was merely long and failed, this makes two waits and one load.
func (r *run[K, V]) await(ctx context.Context) {
	w, now, n := &r.waits, r.f.j.t.now(), r.frame.nonce
	if r.f.j.refreshing != nil {
		r.end(ctx, outcome[K, V]{again: true})
		return
	}
	r.next = toWait
	if !r.frame.claimed || w.n > 0 && w.last == n {
		return
	}
	most := 1
	if w.n == 1 && now-w.since >= int64(r.f.j.t.cfg.ClaimTTL)/4 {
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
func (p *party[K, V]) wait() {
	r := &p.runs[0]
	waited := time.Duration(r.f.j.t.now() - r.since)
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
