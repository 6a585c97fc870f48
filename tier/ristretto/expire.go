package ristretto

import (
	"math"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/tier"
)

// expireSome removes entries of the shard that have ended, if the front is over its limit.
func (t *Tier) expireSome(s *shard) {
	if !t.ends.Known() || t.front.Load() <= t.frontLimit() {
		return
	}
	x := expiry{tier: t, shard: s, now: t.ends.Now(), most: localnode.MaxExpired}
	defer x.tell()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.Sweep(x.now, localnode.SweepCells, x.remove)
}

// sweep removes all entries that are known to have ended. It asks a quarter of the entries for
// their ends.
func (t *Tier) sweep() (more bool) {
	now := t.ends.Now()
	for i := range t.shards {
		s := &t.shards[i]
		x := expiry{tier: t, shard: s, now: now, most: math.MaxInt}
		some := s.table.SweepAll(&s.mu, now, x.remove, x.tell)
		more = more || some
		t.drainIfDue()
	}
	return more
}

// expiry is one search for entries that have ended.
type expiry struct {
	tier  *Tier
	shard *shard
	now   localnode.Tick
	most  int // the most entries that it removes
	left  []departure
}

// remove removes n if it has ended. Otherwise it returns the end. The caller holds the shard's mutex.
func (x *expiry) remove(n *node) (end localnode.Tick, more bool) {
	end = x.tier.ends.Of(n.Entry())
	if end == 0 || end > x.now {
		return end, true
	}
	x.shard.table.Remove(n.Hash)
	x.tier.releaseLocked(x.shard, n)
	x.left = append(x.left, departure{n, tier.Expired})
	x.most--
	return 0, x.most > 0
}

// tell reports the entries that were removed. The caller holds no lock.
func (x *expiry) tell() {
	left := x.left
	x.left = nil
	x.tier.tellLeft(left)
}
