// Package localnode has the memory in which the local tiers keep their entries: the node of
// one entry, and the table that finds nodes. It is a package of its own so that package cache
// can lay nodes out inside its entries, and so that two tiers share the table.
package localnode

import (
	"sync/atomic"

	"github.com/twofold-go/twofold/tier"
)

// Node is the memory in which a local tier keeps one entry. An entry that embeds
// one brings it along: the tier then allocates nothing for it, and a hit finds
// the entry around the node, in the same line of memory. Embed it in a struct whose
// pointer is the entry; the zero Node is ready. Everything in it belongs to the tier.
// It takes 64 bytes, and what a hit reads are the first 28.
type Node struct {
	Hash    uint64        // immutable
	Entry   any           // immutable
	Seen    atomic.Uint32 // hits; each tier has its own way to count them
	Place   Place         // protected by the shard's mutex
	Held    bool          // for tier/ristretto: ristretto has it
	Taken   atomic.Bool
	Entered uint32 // for tier/ristretto: how many had entered the list when it did
	Cost    int64  // immutable; as given to Set

	// A list, protected by the shard's mutex, as Entered is. New nodes enter
	// at the newest end.
	Older, Newer *Node
}

// LocalNode returns n. It is how a tier finds the node of an entry that embeds
// one.
func (n *Node) LocalNode() *Node { return n }

// Of returns a node for e: the one it brings, unless that is or was in use, because
// readers without a lock may still look at it. A negative cost counts as zero.
func Of(hash uint64, e tier.Entry, cost int64) *Node {
	var n *Node
	if b, ok := e.(interface{ LocalNode() *Node }); ok && b.LocalNode().Taken.CompareAndSwap(false, true) {
		n = b.LocalNode()
	} else {
		n = new(Node)
	}
	n.Hash, n.Entry, n.Cost = hash, e, max(cost, 0)
	return n
}

// Place says which part of the tier answers for a node. The table finds a node
// in every place but the zero one. The tier names them.
type Place uint8
