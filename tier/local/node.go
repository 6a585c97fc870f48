package local

import (
	"sync/atomic"

	"github.com/twofold-go/twofold/tier"
)

// Node is the memory in which a [Tier] keeps one entry. An entry that embeds
// one brings it along: the tier then allocates nothing for it, and a hit finds
// the entry around the node, in the same line of memory. Embed it in a struct whose
// pointer is the entry; the zero Node is ready. Everything in it belongs to the tier.
type Node struct {
	hash    uint64 // immutable
	entry   any    // immutable
	seen    atomic.Uint32
	place   place // protected by the shard's mutex
	held    bool  // ristretto has it; protected by handover.mu
	taken   atomic.Bool
	entered uint32 // how many had entered the SIEVE list when it did
	cost    int64  // immutable; as given to Set

	// The SIEVE list, protected by the shard's mutex, as entered is. New nodes enter
	// at the newest end.
	older, newer *node
}

// node is a Node as the tier sees it: one entry for as long as the tier holds
// it. It takes 64 bytes, and what a hit reads are the first 28.
type node = Node

// LocalNode returns n. It is how a tier finds the node of an entry that embeds
// one.
func (n *Node) LocalNode() *Node { return n }

// nodeOf returns a node for e: the one it brings, unless that is or was in use,
// because readers without a lock may still be looking at it.
func nodeOf(hash uint64, e tier.Entry, cost int64) *node {
	var n *node
	if b, ok := e.(interface{ LocalNode() *Node }); ok && b.LocalNode().taken.CompareAndSwap(false, true) {
		n = b.LocalNode()
	} else {
		n = new(node)
	}
	n.hash, n.entry, n.cost = hash, e, max(cost, 0)
	return n
}

// place says which part of the tier answers for a node. The table finds a node
// in every place but gone.
type place uint8

const (
	gone     place = iota // not in the table: not yet, or no longer
	inFront               // on the shard's SIEVE list
	spilling              // in the queue, or in the drainer's hands
	inMain                // ristretto decides how long it stays
)

// charge is what the node takes from the budget.
func (n *node) charge() int64 { return n.cost + Overhead }

// touch sets the sticky bit. A hot node has it set already, and the check keeps
// its cache line clean and shared between the cores that read it.
func (n *node) touch() {
	if n.seen.Load() == 0 {
		n.seen.Store(1)
	}
}
