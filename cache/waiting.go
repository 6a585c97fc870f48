package cache

import (
	"context"
	"time"
)

// over reports whether the run takes the place of whoever has claimed the key: its patience
// is over, or it is to load now.
func (r *run[K, V]) over() bool {
	return r.f.minLoaded > -never || r.f.t.now()-r.since > int64(r.f.p.LoadTimeout)
}

// await makes WAIT the next step, or LOAD: a run waits for one load of another process.
// When that has ended and stored nothing, others may have claimed the key by now. Waiting
// for them as well would make the loads of a fleet run one by one. So the run loads beside
// them, without a claim.
//
// A claim outlives its process by about two thirds of ClaimTTL, because it is renewed each
// third, or somewhat later on a busy machine. A run that waited for a quarter may have
// waited for a dead process. It waits once more, so that one process takes over and not
// all of them. If the load was merely long and failed, that makes two waits and one load.
func (r *run[K, V]) await(ctx context.Context) {
	w, now, n := &r.waits, r.f.t.now(), r.frame.nonce
	if r.f.refreshing != nil {
		r.end(ctx, outcome[K, V]{again: true})
		return
	}
	r.next = toWait
	if !r.frame.claimed || w.n > 0 && w.last == n {
		return
	}
	most := 1
	if w.n == 1 && now-w.since >= int64(r.f.t.cfg.ClaimTTL)/4 {
		most = 2
	}
	if r.tries+w.n >= most {
		r.next = toLoad
		return
	}
	*w = waits{n: w.n + 1, last: n, since: now}
}

// wait waits for another process's fill: two milliseconds at first, so that a short
// load is noticed at once, then in proportion to how long it has taken.
func (p *party[K, V]) wait() {
	r := &p.runs[0]
	waited := time.Duration(r.f.t.now() - r.since)
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
