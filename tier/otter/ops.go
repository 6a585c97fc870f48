package otter

import "github.com/twofold-go/twofold/tier"

// Get returns the last entry that was Set under hash, and whether there is one. It waits for no
// lock, allocates nothing and evicts nothing. It writes only to otter's buffer of hits, which the
// next Set reads.
func (t *Tier) Get(hash uint64) (e tier.Entry, ok bool) {
	c := t.cache.Load()
	if c == nil {
		return nil, false
	}
	h, ok := c.GetIfPresent(hash)
	return h.entry, ok
}

// Set makes e visible under hash before it returns. Cost is in bytes; a negative cost counts as
// zero. Set returns false when cost and [Overhead] exceed a fifth of MaxBytes, or 64 GiB. Then e
// is reported as Rejected, and the older entry is removed and reported as Replaced. Set also
// returns false when the tier is closed, and then reports nothing.
//
// A Set does the maintenance that otter has requested since the last Set or Delete.
func (t *Tier) Set(hash uint64, e tier.Entry, cost int64) bool {
	c := t.cache.Load()
	if c == nil {
		return false
	}
	h := held{entry: e, cost: max(cost, 0)}
	if h.cost > t.limits.entry-Overhead {
		defer t.tell(h, tier.Rejected) // also when the first report panics
		t.remove(c, hash, tier.Replaced)
		return false
	}
	t.maintain(c)
	if !t.reserve(c, h.charge()) {
		return false
	}
	if old, fresh := c.Set(hash, h); !fresh {
		t.total.Add(-old.charge())
		t.tell(old, tier.Replaced)
	}
	return true
}

// Delete removes the entry under hash and reports it as Deleted. It does nothing when there is no
// entry or the tier is closed.
func (t *Tier) Delete(hash uint64) {
	if c := t.cache.Load(); c != nil {
		t.remove(c, hash, tier.Deleted)
	}
}

// remove also does maintenance: each deletion goes into otter's buffer of writes, and a run of
// deletions would fill it.
func (t *Tier) remove(c *cache, hash uint64, reason tier.EvictReason) {
	t.maintain(c)
	if old, ok := c.Invalidate(hash); ok {
		t.total.Add(-old.charge())
		t.tell(old, reason)
	}
}
