package otter

import (
	"math"
	"runtime"
)

// unit is the unit of otter's weights, in bytes. Weights have 32 bits, so one entry may be
// charged up to 64 GiB. Each weight is rounded up, which costs eight bytes of the budget on
// average.
const unit = 16

// limits are the shares of MaxBytes, in bytes of charge.
type limits struct {
	hard   int64  // no entry enters beyond this
	slack  int64  // hard minus MaxBytes
	entry  int64  // one entry's largest charge
	weight uint64 // otter's maximum, in units
}

func limitsOf(maxBytes int64) limits {
	slack := min(maxBytes/20, math.MaxInt64-maxBytes)
	return limits{
		hard:   maxBytes + slack,
		slack:  slack,
		entry:  min(maxBytes/5, math.MaxUint32*unit),
		weight: uint64(maxBytes / unit),
	}
}

// weigh cannot overflow: no entry is charged more than limits.entry.
func weigh(charge int64) uint32 { return uint32((charge + unit - 1) / unit) }

// maintain does the maintenance that otter requested, unless another call is doing it.
//
// otter passes its executor a function that is one pass of maintenance, and lets the executor
// decide when to run it. This tier's executor only notes the request. Calling CleanUp later does
// the same work. So an entry is never judged in its own Set, but only in a later one, and is
// still there when its Set returns.
func (t *Tier) maintain(c *cache) {
	if t.due.Load() && t.mu.TryLock() {
		defer t.mu.Unlock()
		t.cleanUpLocked(c)
	}
}

// cleanUpLocked clears due before it begins, so a request that comes meanwhile is kept for the
// next time.
func (t *Tier) cleanUpLocked(c *cache) {
	t.due.Store(false)
	c.CleanUp()
}

// reserve takes charge from the budget before an entry becomes visible. When the entry does not
// fit, reserve makes room first. It returns false when the tier is closed.
//
// After maintenance otter holds MaxBytes at most. The charge beyond that belongs to Sets that
// have reserved and have not called otter yet. Those Sets wait for no lock that reserve holds, so
// the total goes down.
func (t *Tier) reserve(c *cache, charge int64) bool {
	if t.take(charge) {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.cache.Load() == c {
		t.makeRoomLocked(c, charge)
		if t.take(charge) {
			return true
		}
		runtime.Gosched()
	}
	return false
}

func (t *Tier) take(charge int64) bool {
	for {
		total := t.total.Load()
		if charge > t.limits.hard-total { // this form cannot overflow
			return false
		}
		if t.total.CompareAndSwap(total, total+charge) {
			return true
		}
	}
}

// makeRoomLocked makes otter evict what exceeds MaxBytes. For an entry that would still not fit,
// otter evicts the entry's charge as well. The only way to do so in otter's own order of eviction
// is to lower the maximum. That restarts the window that otter tunes by the hits.
func (t *Tier) makeRoomLocked(c *cache, charge int64) {
	if charge <= t.limits.slack {
		t.cleanUpLocked(c)
		return
	}
	t.due.Store(false)
	c.SetMaximum(t.limits.weight - uint64(weigh(charge)))
	c.SetMaximum(t.limits.weight)
}
