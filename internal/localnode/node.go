// Package localnode holds the memory in which the local tiers keep their entries: the node of one
// entry, and the table that finds nodes. It is a separate package because package cache embeds
// nodes in its entries, and two tiers share the table.
package localnode

import (
	"sync/atomic"

	"github.com/twofold-go/twofold/tier"
)

// Node is the memory in which a local tier keeps one entry. If an entry embeds a Node, the tier
// allocates nothing for the entry, and a hit finds the entry and its node in the same cache line.
// Embed it in a struct whose pointer is the entry. The zero Node is ready to use. All its fields
// belong to the tier. A Node takes 64 bytes; a hit reads the first 28.
type Node struct {
	Hash    uint64        // immutable
	Entry   any           // immutable
	Seen    atomic.Uint32 // hits; each tier counts them in its own way
	Place   Place         // protected by the shard's mutex
	Held    bool          // for tier/ristretto: ristretto holds the node
	Taken   atomic.Bool
	Entered uint32 // for tier/ristretto: how many nodes had entered the list when this one did
	Cost    int64  // immutable; as given to Set

	// A list. The shard's mutex protects it and Entered. New nodes enter at the newest end.
	Older, Newer *Node
}

// LocalNode returns n. A tier calls it to find the node that an entry embeds.
func (n *Node) LocalNode() *Node { return n }

// Of returns a node for e. It is the node that e embeds, unless that node is or was in use: readers
// without a lock may still read it. A negative cost counts as zero.
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

// Place says which part of the tier holds a node. The table finds a node in every place except the
// zero one. The tier names the places.
type Place uint8
