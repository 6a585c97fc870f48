package fence

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// A log that has lost its records has lost its holds, too. A process that starts within such a hold
// would not know it, and cache what the replica still has. So the processes that know the hold send
// it again in the new epoch, for the rest of its time. Each process waits for its next round. Before
// that, the records of the first processes usually reach the others. A process does not send a hold that
// has come again.
//
// Until then, such a process does not trust the remote tier ([Fences.HoldsLost]).
//
// A hold of a key is sent by its hash, and no cell can be removed by a hash. But a process that misses
// the records of keys trusts the cells. So an invalidation of everything is sent with those holds. It
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

// HoldsLost reports whether some live holds may be missing in the log.
func (f *Fences) HoldsLost() bool { return f.holds.lost.Load() }

// TakeLostHolds returns fences for the live holds that were stored in an earlier epoch of the log.
// The caller sends them. From now on HoldsLost is false.
func (f *Fences) TakeLostHolds() []invalidate.Fence {
	f.holds.lost.Store(false)
	return f.holds.takeLost(f.Now())
}

// takeLost is TakeLostHolds at a time.
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
