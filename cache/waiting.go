package cache

import (
	"time"

	"github.com/twofold-go/twofold/tier"
)

// waiting is for which claims of other processes a flight has waited.
type waiting struct {
	waits int        // how many
	last  tier.Nonce // the last of them
	since int64      // when that wait began
}

// waitsFor reports whether the flight waits for the load that has the claim n. It waits
// for one load. When that has ended and stored nothing, others may have claimed the key
// by now. Waiting for them as well would make the loads of a fleet run one by one. So the
// flight loads beside them, without a claim.
//
// A claim outlives its process by about two thirds of ClaimTTL, because it is renewed each
// third, or somewhat later on a busy machine. A flight that waited for a quarter may have
// waited for a dead process. It waits once more, so that one process takes over and not
// all of them. If the load was merely long and failed, that makes two waits and one load.
func (j *job[K, V]) waitsFor(n tier.Nonce) bool {
	w, now := &j.waiting, j.t.now()
	if w.waits > 0 && w.last == n {
		return true
	}
	most := 1
	if w.waits == 1 && now-w.since >= int64(j.t.cfg.ClaimTTL)/4 {
		most = 2
	}
	if j.tries+w.waits >= most {
		return false
	}
	*w = waiting{waits: w.waits + 1, last: n, since: now}
	return true
}

// nap waits for another process's fill: two milliseconds at first, so that a short
// load is noticed at once, then in proportion to how long it has taken.
func (j *job[K, V]) nap(last, waited time.Duration) time.Duration {
	t := time.NewTimer(last)
	defer t.Stop()
	select {
	case <-t.C:
	case <-j.ctx.Done():
	}
	return min(max(2*time.Millisecond, waited/16), 100*time.Millisecond)
}
