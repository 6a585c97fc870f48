package follow

import (
	"github.com/twofold-go/twofold/internal/fence"
)

// resend queues the holds that the log has lost.
func (w *Follower) resend() {
	if !w.fences.HoldsLost() {
		return
	}
	w.owed.Add(1) // from before they are taken until the order counts
	defer w.owed.Add(-1)
	r := fence.Request{Again: w.fences.TakeLostHolds()}
	if len(r.Again) == 0 {
		return
	}
	for _, f := range r.Again {
		r.Hold = max(r.Hold, f.Hold)
	}
	o := w.newOrder(r)
	o.left = true
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count(o)
	w.keep(o)
	w.cfg.Logger.Info("invalidate: the log has begun a new epoch; the holds that this process knows are sent again", "holds", len(r.Again))
}
