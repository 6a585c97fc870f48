package ristretto

import (
	"github.com/twofold-go/twofold/tier"

	"github.com/twofold-go/twofold/internal/localnode"
)

// Get returns the last entry that was Set under hash, and whether there is one. It takes no lock
// and allocates nothing. It writes at most one bit, once between two visits of the hand. It never
// calls ristretto.
func (t *Tier) Get(hash uint64) (e any, ok bool) {
	n := t.shardOf(hash).table.Load(hash)
	if n == nil {
		return nil, false
	}
	touch(n)
	return n.Entry(), true
}

// Set makes e visible under hash before it returns. Cost is in bytes; a negative cost counts as
// zero. Set returns false when cost and [Overhead] exceed a fifth of MaxBytes. Then e is reported
// as Rejected, and the older entry is removed and reported as Replaced. Set also returns false
// when the tier is closed, and then reports e as Closed.
//
// About one Set in a hundred pays for a batch that moves to ristretto.
func (t *Tier) Set(hash uint64, e any, cost int64) bool {
	n := localnode.Of(hash, e, cost)
	end := t.ends.Of(e)
	s := t.shardOf(hash)
	if n.Cost() > t.limits.entry-Overhead {
		return t.refuse(s, n)
	}
	if !t.reserve(s, chargeOf(n)) {
		t.tell(n, tier.Closed)
		return false
	}
	if !t.enter(s, n, end) {
		t.front.Add(-chargeOf(n))
		t.total.Add(-chargeOf(n))
		t.tell(n, tier.Closed)
		return false
	}
	t.ends.Entered(end)
	t.expireSome(s)
	t.shrink(s)
	t.drainIfDue()
	return true
}

// enter publishes n, whose charge is reserved.
func (t *Tier) enter(s *shard, n *node, end localnode.Tick) bool {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return false
	}
	old := s.enter(n, end)
	if old != nil {
		t.releaseLocked(s, old)
	}
	s.mu.Unlock()
	if old != nil {
		t.tell(old, tier.Replaced)
	}
	return true
}

func (t *Tier) refuse(s *shard, n *node) bool {
	if t.closed.Load() {
		t.tell(n, tier.Closed)
		return false
	}
	defer t.tell(n, tier.Rejected) // even if the first report panics
	t.remove(s, n.Hash, tier.Replaced)
	return false
}

// Delete removes the entry under hash and reports it as Deleted. It does nothing when there is no
// entry or the tier is closed.
func (t *Tier) Delete(hash uint64) { t.remove(t.shardOf(hash), hash, tier.Deleted) }

func (t *Tier) remove(s *shard, hash uint64, reason tier.EvictReason) {
	s.mu.Lock()
	n := s.table.Remove(hash)
	if n != nil {
		t.releaseLocked(s, n)
	}
	s.mu.Unlock()
	if n != nil {
		t.tell(n, reason)
		t.drainIfDue()
	}
}

// releaseLocked releases the place of n, which has left the table. The caller holds the shard's
// mutex, and reports n after it unlocks it.
func (t *Tier) releaseLocked(s *shard, n *node) {
	switch n.Place {
	case inFront:
		s.front.unlink(n)
		t.front.Add(-chargeOf(n))
	case inMain:
		t.queue.forget(n)
	case spilling, gone: // the drainer has it, or no part of the tier
	}
	n.Place = gone
	s.cost -= n.Cost()
	t.total.Add(-chargeOf(n))
}
