package local

import (
	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/tier"
)

// node is one entry for as long as the tier holds it.
type node = localnode.Node

// nodeOf returns a node for e: the one it brings, unless that is or was in use,
// because readers without a lock may still be looking at it.
func nodeOf(hash uint64, e tier.Entry, cost int64) *node {
	var n *node
	if b, ok := e.(interface{ LocalNode() *node }); ok && b.LocalNode().Taken.CompareAndSwap(false, true) {
		n = b.LocalNode()
	} else {
		n = new(node)
	}
	n.Hash, n.Entry, n.Cost = hash, e, max(cost, 0)
	return n
}

// chargeOf returns what a node takes from the budget.
func chargeOf(n *node) int64 { return n.Cost + Overhead }

// touch sets the sticky bit. A hot node has it set already, and the check keeps
// its cache line clean and shared between the cores that read it.
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
