package local

import (
	"github.com/twofold-go/twofold/internal/localnode"
)

// Get returns the last entry that was Set under hash, and whether there is one. It takes no lock
// and allocates nothing. Between two visits of the hand it writes to the entry's node at most
// three times. For samples of the climb it writes more often.
func (t *Tier) Get(hash uint64) (e any, ok bool) {
	m := localnode.Mix(hash)
	s := t.shardOf(m)
	n := s.table.Load(hash)
	if n == nil {
		return nil, false
	}
	seen := n.Seen.Load()
	if seen&hitsMask < hitsMask {
		seen++
		n.Seen.Store(seen)
	}
	if t.isSample(m) {
		s.sampleHit(n, seen)
	}
	return n.Entry(), true
}

// Set makes e visible under hash before it returns. Cost is in bytes; a negative cost counts as
// zero. Set returns false when cost and [Overhead] exceed a fifth of MaxBytes. Then e is reported
// as Rejected, and the older entry is removed and reported as Replaced. Set also returns false
// when the tier is closed, and then reports e as Closed.
func (t *Tier) Set(hash uint64, e any, cost int64) bool {
	n := localnode.Of(hash, e, cost)
	end := t.ends.Of(e)
	m := localnode.Mix(hash)
	s := t.shardOf(m)
	if n.Cost() > t.largest-Overhead {
		return t.refuse(s, n)
	}
	var out departures
	ok, done := s.set(n, end, m, &out, new(int64))
	if !done {
		ok = t.setLarge(s, n, end, m, &out)
	}
	if !ok {
		out.add(n, closed)
	}
	t.tell(&out)
	if ok {
		t.ends.Entered(end)
	}
	if ok && t.isSample(m) {
		t.climb.step(t)
	}
	return ok
}

// setLarge is set for an entry that one shard has no room for. It evicts from the other shards,
// and keeps the room that it gained; otherwise many small entries could take it again and again.
// Only one call at a time does so: several calls that each keep a part could wait for each other.
func (t *Tier) setLarge(s *shard, n *node, end localnode.Tick, mixed uint64, out *departures) bool {
	t.large.Lock()
	defer t.large.Unlock()
	var have int64
	for next := int(mixed>>t.shardShift) + 1; ; next++ {
		t.shards[next%len(t.shards)].give(out, &have)
		if ok, done := s.set(n, end, mixed, out, &have); done {
			return ok
		}
	}
}

func (t *Tier) refuse(s *shard, n *node) bool {
	var out departures
	if t.closed.Load() {
		out.add(n, closed)
	} else {
		s.remove(n.Hash, replaced, &out)
		out.add(n, rejected)
	}
	t.tell(&out)
	return false
}

// Delete removes the entry under hash and reports it as Deleted. It does nothing when there is no
// entry or the tier is closed.
func (t *Tier) Delete(hash uint64) {
	var out departures
	t.shardOf(localnode.Mix(hash)).remove(hash, deleted, &out)
	t.tell(&out)
}

// take takes charge from the budget, or what is left of it, and returns how much it took.
func (t *Tier) take(charge int64) int64 {
	for charge > 0 {
		total := t.total.Load()
		some := min(charge, t.max-total)
		if some <= 0 {
			return 0
		}
		if t.total.CompareAndSwap(total, total+some) {
			return some
		}
	}
	return 0
}

// tell reports the entries that left the tier, without a lock. When the callback panics, tell still
// reports the rest.
func (t *Tier) tell(out *departures) {
	if t.removed == nil || out.first == nil {
		return
	}
	defer func() {
		if out.first != nil { // the callback panicked
			t.tell(out)
		}
	}()
	for out.first != nil {
		n := out.first
		out.first, n.Newer = n.Newer, nil
		t.removed(n.Entry(), n.Cost(), reasons[n.Place])
	}
}
