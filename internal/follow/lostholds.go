package follow

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// A log that has lost its records has lost its holds, too. A process that starts within such a hold
// would not know it, and cache what the replica still has. So the processes that know the hold send
// it again in the new epoch, for the rest of its time. Each process waits for its next round. The
// records of the first ones reach the others before that, as a rule, and a hold that has come again
// is not sent again.
//
// Until then, such a process does not trust the remote tier, as if it owed the holds
// ([Follower.Owes]).
//
// A hold of a key is sent by its hash. No cell can be removed by a hash. But a process that misses
// the records of keys trusts the cells. So an invalidation of everything goes with those holds. It
// covers the cells that were filled since the epoch began, which are few.

// lose notes that one of the log's sequences has begun a new epoch.
func (h *holds) lose(keys bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.epochs[sequence(keys)]++
	if h.n.Load() > 0 {
		h.lost.Store(true)
	}
}

func sequence(keys bool) int {
	if keys {
		return 0
	}
	return 1
}

// epochOf counts the epochs of the sequence that carries holds of a kind. mu is held.
func (h *holds) epochOf(k invalidate.Kind) uint32 { return h.epochs[sequence(k == invalidate.KindKey)] }

// takeLost returns fences for the live holds that were stored in an earlier epoch of the log. The
// caller sends them.
func (h *holds) takeLost(now int64) (fences []invalidate.Fence) {
	h.mu.Lock()
	defer h.mu.Unlock()
	again := func(k held, x *hold, epoch uint32) {
		if x.end > now && x.epoch != epoch {
			x.epoch = epoch
			fences = append(fences, invalidate.Fence{Kind: k.kind, Hash: k.hash, Len: k.len, Hold: roundUp(time.Duration(x.end - now))})
		}
	}
	for k, x := range h.kept {
		again(k, &x, h.epochOf(k.kind))
		h.kept[k] = x
	}
	for k := range h.all { // a hold of a whole kind becomes one of everything
		again(held{kind: invalidate.KindAll}, &h.all[k], h.epochOf(invalidate.Kind(k))) //nolint:gosec // an index of kinds
	}
	return fences
}

// roundUp rounds to milliseconds, as logs do.
func roundUp(d time.Duration) time.Duration {
	return (d + time.Millisecond - 1).Truncate(time.Millisecond)
}

// resend queues the holds that the log has lost.
func (w *Follower) resend() {
	h := &w.fences.holds
	if !h.lost.Load() {
		return
	}
	w.owed.Add(1) // from before lost is cleared until the order counts
	defer w.owed.Add(-1)
	h.lost.Store(false)
	r := Request{again: h.takeLost(w.fences.now())}
	if len(r.again) == 0 {
		return
	}
	for _, f := range r.again {
		r.Hold = max(r.Hold, f.Hold)
	}
	o := w.newOrder(r)
	o.left = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count(o)
	w.keep(o)
	w.cfg.Logger.Info("invalidate: the log has begun a new epoch; the holds that this process knows are sent again", "holds", len(r.again))
}
