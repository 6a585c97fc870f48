package otter

import (
	"math"
	"runtime"
)

// unit is what otter counts in, in bytes. Its weights have 32 bits, so that one
// entry may be charged up to 64 GiB; each is rounded up, which costs eight
// bytes of the budget on average.
const unit = 16

// limits are the shares of MaxBytes, in bytes of charge.
type limits struct {
	hard   int64  // no entry enters beyond this
	slack  int64  // what hard is beyond MaxBytes
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

// weigh does not overflow: no entry is charged more than limits.entry.
func weigh(charge int64) uint32 { return uint32((charge + unit - 1) / unit) }

// maintain does what otter asked for, unless somebody is at it.
//
// otter hands its executor a function that is one pass of maintenance, and
// leaves to it when that runs. This tier's executor only notes that it was
// asked: what CleanUp does is the same, and it is the one who calls that
// decides when. An entry is thus never judged in its own Set, but in one that
// begins after it, so that it is still there when its Set returns.
func (t *Tier) maintain(c *cache) {
	if t.due.Load() && t.mu.TryLock() {
		defer t.mu.Unlock()
		t.cleanUpLocked(c)
	}
}

// cleanUpLocked forgets that maintenance is due before it begins, so that what
// is asked for meanwhile is done next time.
func (t *Tier) cleanUpLocked(c *cache) {
	t.due.Store(false)
	c.CleanUp()
}

// reserve takes charge from the budget for an entry about to be visible, and
// makes room first when it would not fit. It reports false when the tier is
// closed.
//
// After maintenance otter holds MaxBytes at most. What is beyond that belongs
// to Sets that have reserved and not yet told otter; these wait for nothing
// that is held here, so it comes down.
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
		if charge > t.limits.hard-total { // so written that nothing overflows
			return false
		}
		if t.total.CompareAndSwap(total, total+charge) {
			return true
		}
	}
}

// makeRoomLocked has otter evict what is beyond MaxBytes, and for an entry that
// would not fit even then, as much again as it is charged. Lowering the maximum
// is otter's only way to do so by its own order of eviction; it makes the
// window, which otter tunes by the hits, start over.
func (t *Tier) makeRoomLocked(c *cache, charge int64) {
	if charge <= t.limits.slack {
		t.cleanUpLocked(c)
		return
	}
	t.due.Store(false)
	c.SetMaximum(t.limits.weight - uint64(weigh(charge)))
	c.SetMaximum(t.limits.weight)
}
