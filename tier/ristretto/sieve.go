package ristretto

import "github.com/twofold-go/twofold/internal/localnode"

// sieve is the eviction order of one shard's part of the front: SIEVE (Zhang et al., NSDI'24).
// New nodes enter at the head. A hand walks from the tail toward the head. It clears the bit of
// each node that was hit since its last visit, and takes the first node without the bit. Hits
// move nothing, so they need no lock. The zero value is empty. The shard's mutex protects it.
type sieve struct {
	localnode.List
	hand   *node  // where the next search begins; nil means at the tail
	pushed uint32 // nodes that ever entered
}

// graceful is how many of the newest nodes the hand skips. In a short list it skips fewer, but
// always at least one if there is another node to take. Plain SIEVE may take the node that has just
// entered, when the hand is at the head and every older node was hit. Then the Get after a Set
// would miss.
const graceful = 8

// young reports whether n is too new to be taken. Then every newer node is too new as well.
func (s *sieve) young(n *node) bool {
	return s.pushed-n.Entered < uint32(min(graceful, (s.Len+2)/4))
}

// maxSteps bounds the work of one eviction under the shard's mutex. A victim is offered to
// ristretto and not dropped, so taking one that was hit costs little.
const maxSteps = 128

func (s *sieve) push(n *node) {
	s.PushNewest(n)
	s.pushed++
	n.Entered = s.pushed
}

func (s *sieve) unlink(n *node) {
	if s.hand == n {
		s.hand = n.Newer
	}
	s.Unlink(n)
}

// evict unlinks and returns the node that the hand chooses. The list must not be empty. It calls
// cleared with each hash whose bit it clears. Through it ristretto's sketch gets the hits in the
// front, once for each round of the hand.
func (s *sieve) evict(cleared func(hash uint64)) *node {
	n := s.hand
	if n == nil {
		n = s.Tail
	}
	if s.young(n) {
		n = s.Tail
	}
	for range maxSteps {
		if n.Seen.Load() == 0 {
			break
		}
		n.Seen.Store(0)
		cleared(n.Hash)
		if n = n.Newer; n == nil || s.young(n) {
			n = s.Tail
		}
	}
	s.hand = n
	s.unlink(n)
	return n
}
