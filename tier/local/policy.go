package local

import "github.com/twofold-go/twofold/internal/localnode"

// A shard's entries stand in two queues. New ones enter the window, which is first in,
// first out. What leaves the window joins main if there is room. Otherwise it has to
// be worth more than what main's hand would evict. The worth of an entry is how often
// its hash was seen lately, by the sketch, for each byte that it takes.

const (
	// graceful is how many of a shard's newest entries stay whatever the window's limit
	// is, fewer in a small shard. A Set should be seen by the Get behind it.
	graceful = 8

	// maxSteps bounds one search of the hand.
	maxSteps = 128

	// maxVictims bounds what is evicted for one entry at once.
	maxVictims = 16

	// maxMoves bounds what one Set moves from the window to main, when the window's share
	// has become less.
	maxMoves = 32

	// warm is how often a candidate must have been seen for luck to admit it now and
	// then against all others, and oneIn is how seldom that is. Somebody who chooses
	// keys that collide in the sketch could shut out others otherwise (Einziger, Friedman
	// and Manes, ACM TOS 2017, leave it open; Caffeine has the same remedy).
	warm  = 6
	oneIn = 128
)

// isOver reports whether the window has more than its share when need bytes have
// entered. Few entries have grace as long as they are not large.
func (s *shard) isOver(need int64) bool {
	limit := s.tier.limit.Load()
	over := s.tier.window.Load() - limit + need
	return s.window.len > 1 && over > 0 &&
		(s.window.len > min(graceful, (s.window.len+s.main.len)/4) || over > limit/2)
}

// evict takes something out, and adds its charge to have. It reports false when the shard
// is empty. Need is how much is to come.
func (s *shard) evict(need int64, out *departures, have *int64) bool {
	switch {
	case s.main.len > 0 && s.isOver(need):
		s.contest(s.window.tail, out, have)
	case s.main.len > 0:
		s.evictOne(s.victim(), evicted, out, have)
	case s.window.len > 0:
		s.evictOne(s.window.tail, evicted, out, have)
	default:
		return false
	}
	return true
}

func (s *shard) evictOne(n *node, why localnode.Place, out *departures, have *int64) {
	s.drop(n, why, out)
	*have += chargeOf(n)
}

// promote moves the window's oldest to main.
func (s *shard) promote(n *node) {
	s.unlink(n)
	s.carry(n)
	n.Place = inMain
	s.link(n)
}

// admit moves the window's oldest to main, where there is room. In a full tier that is
// what an entry larger than its successor has left, so the next contest is about n.
func (s *shard) admit(n *node) {
	s.promote(n)
	if s.tier.isFull() {
		s.main.unlink(n)
		s.main.pushOldest(n)
	}
}

// carry tells the sketch of a node's hits.
func (s *shard) carry(n *node) {
	seen := n.Seen.Load()
	for range seen & hitsMask {
		s.sketch.add(localnode.Mix(n.Hash))
	}
	n.Seen.Store(seen &^ hitsMask)
}

// victim returns what main can do without: the oldest that was not hit since the hand
// came by (CLOCK with two bits). Others lose a hit, to the sketch, and become the newest.
func (s *shard) victim() *node {
	for range maxSteps {
		n := s.main.tail
		seen := n.Seen.Load()
		if seen&hitsMask == 0 {
			break
		}
		n.Seen.Store(seen - 1)
		s.sketch.add(localnode.Mix(n.Hash))
		s.main.unlink(n)
		s.main.pushNewest(n)
	}
	return s.main.tail
}

// contest evicts the window's oldest, or as much of main as it takes up.
func (s *shard) contest(n *node, out *departures, have *int64) {
	s.carry(n)
	var victims [maxVictims]*node
	mine, theirs, room, count, won := s.worth(n), uint64(0), int64(0), 0, true
	for won && room < chargeOf(n) && count < maxVictims && s.main.len > 0 {
		v := s.victim()
		s.main.unlink(v) // so that the next one is another
		victims[count] = v
		count++
		theirs += s.worth(v)
		room += chargeOf(v)
		won = s.isBetter(mine*uint64(room), theirs*uint64(chargeOf(n)), mine)
	}
	for _, v := range victims[:count] {
		s.main.pushNewest(v)
	}
	if !won {
		s.evictOne(n, rejected, out, have)
		return
	}
	for _, v := range victims[:count] {
		s.evictOne(v, evicted, out, have)
	}
	s.promote(n)
}

func (s *shard) worth(n *node) uint64 { return s.sketch.estimate(localnode.Mix(n.Hash)) }

// isBetter compares a candidate, seen so often, to others.
func (s *shard) isBetter(mine, theirs, seen uint64) bool {
	if mine > theirs {
		return true
	}
	if mine < theirs && seen < warm {
		return false
	}
	s.luck = s.luck*6364136223846793005 + 1442695040888963407 // Knuth's MMIX
	return s.luck>>32%oneIn == 0
}
