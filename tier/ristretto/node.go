package ristretto

import "github.com/twofold-go/twofold/internal/localnode"

// node is one entry while the tier holds it.
type node = localnode.Node

// chargeOf returns what a node takes from the budget.
func chargeOf(n *node) int64 { return n.Cost() + Overhead }

// touch sets the bit for a hit. It checks first, so the cache line of a hot node stays shared
// between the cores that read it.
func touch(n *node) {
	if n.Seen.Load() == 0 {
		n.Seen.Store(1)
	}
}

// The places of a node.
const (
	gone     localnode.Place = iota // not in the table: not yet, or no longer
	inFront                         // on the shard's SIEVE list
	spilling                        // in the queue, or in the drainer's hands
	inMain                          // ristretto decides how long it stays
)
