package local

import "github.com/twofold-go/twofold/internal/localnode"

// A shard's entries are in two queues. New entries enter the window, which is first in, first
// out. An entry that leaves the window joins main if there is room. Otherwise it must be worth
// more than the entries that main's hand would evict. The worth of an entry is how often its hash
// was seen lately, according to the sketch, divided by its bytes.

const (
	// graceful is how many of a shard's newest entries stay in the window, even beyond its
	// limit; fewer in a small shard. So the Get after a Set finds the entry.
	graceful = 8

	// maxSteps bounds one search of the hand.
	maxSteps = 128

	// maxVictims bounds how many entries are evicted to make room for one entry.
	maxVictims = 16

	// maxMoves bounds how many entries one Set moves from the window to main, when the
	// window's share has shrunk.
	maxMoves = 32

	// A candidate that is worth less than the victims, but was seen at least warm times, wins
	// once in oneIn contests. A tie wins as often. Without this, an attacker who chooses keys
	// that collide in the sketch could keep other entries out. Einziger, Friedman and Manes,
	// ACM TOS 2017, leave this open; Caffeine has the same remedy.
	warm  = 6
	oneIn = 128
)

// isOver reports whether the window has more than its share when need bytes have entered. The
// newest entries may exceed the share, unless they are large.
func (s *shard) isOver(need int64) bool {
	limit := s.tier.limit.Load()
	over := s.tier.window.Load() - limit + need
	return s.window.Len > 1 && over > 0 &&
		(s.window.Len > min(graceful, (s.window.Len+s.main.Len)/4) || over > limit/2)
}

// evict evicts an entry, and adds its charge to have. It returns false when the shard is empty.
// Need is how many bytes are about to enter.
func (s *shard) evict(need int64, out *departures, have *int64) bool {
	switch {
	case s.main.Len > 0 && s.isOver(need):
		s.contest(s.window.Tail, out, have)
	case s.main.Len > 0:
		s.evictOne(s.victim(), evicted, out, have)
	case s.window.Len > 0:
		s.evictOne(s.window.Tail, evicted, out, have)
	default:
		return false
	}
	return true
}

func (s *shard) evictOne(n *node, why localnode.Place, out *departures, have *int64) {
	s.drop(n, why, out)
	*have += chargeOf(n)
}

// promote moves the window's oldest entry to main.
func (s *shard) promote(n *node) {
	s.unlink(n)
	s.carry(n)
	n.Seen.Store(n.Seen.Load() | ofMain)
	n.Place = inMain
	s.link(n)
}

// admit moves the window's oldest entry to main without a contest, because there is room. In a
// full tier, an entry that was larger than its successor left that room. So n becomes the oldest
// of main, and the next contest is about n.
func (s *shard) admit(n *node) {
	s.promote(n)
	if s.tier.isFull() {
		s.main.Unlink(n)
		s.main.PushOldest(n)
	}
}

// carry adds a node's hits to the sketch.
func (s *shard) carry(n *node) {
	seen := n.Seen.Load()
	for range seen & hitsMask {
		s.sketch.add(localnode.Mix(n.Hash))
	}
	n.Seen.Store(seen &^ hitsMask)
}

// victim returns the next entry to evict from main: the oldest without a hit since the hand came
// by (CLOCK with two bits). Every other entry that the hand visits loses one hit, which the
// sketch gets, and becomes the newest.
func (s *shard) victim() *node {
	for range maxSteps {
		n := s.main.Tail
		seen := n.Seen.Load()
		if seen&hitsMask == 0 {
			break
		}
		n.Seen.Store(seen - 1)
		s.sketch.add(localnode.Mix(n.Hash))
		s.main.Unlink(n)
		s.main.PushNewest(n)
	}
	return s.main.Tail
}

// contest evicts either the window's oldest entry, or as many entries of main as it needs room for.
func (s *shard) contest(n *node, out *departures, have *int64) {
	s.carry(n)
	var victims [maxVictims]*node
	mine, theirs, room, count, won := s.worth(n), uint64(0), int64(0), 0, true
	for won && room < chargeOf(n) && count < maxVictims && s.main.Len > 0 {
		v := s.victim()
		s.main.Unlink(v) // the hand must find another one next
		victims[count] = v
		count++
		theirs += s.worth(v)
		room += chargeOf(v)
		won = s.isBetter(mine*uint64(room), theirs*uint64(chargeOf(n)), mine)
	}
	for _, v := range victims[:count] {
		s.main.PushNewest(v)
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

// isBetter reports whether a candidate, which was seen so often, wins against the victims.
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
