package ristretto

import (
	"sync"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/tier"
)

// shard owns the hashes whose mixed top bits are the shard's index.
type shard struct {
	table localnode.Table // begins with the readers' cache line

	mu     sync.Mutex // protects all below, the table's writers and every node's place
	front  sieve
	cost   int64 // of the nodes in the table, as given to Set
	closed bool
	_      [localnode.CacheLine]byte // keeps the next shard's readers away from this one's writers
}

// enter puts n into the table and the front, and returns the older node of the same hash. The
// caller holds mu.
func (s *shard) enter(n *node, end localnode.Tick) (old *node) {
	old = s.table.Put(n, end)
	s.cost += n.Cost()
	n.Place = inFront
	s.front.push(n)
	return old
}

func (s *shard) usage() (bytes, entries int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cost, int64(s.table.Len())
}

// close removes everything, appends it to left, and refuses new entries. Nodes become gone, so a
// running drain finds nothing to do.
func (s *shard) close(left []departure) []departure {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.table.All() {
		n.Place = gone
		left = append(left, departure{n, tier.Closed})
	}
	s.table.Reset()
	s.front, s.cost, s.closed = sieve{}, 0, true
	return left
}
