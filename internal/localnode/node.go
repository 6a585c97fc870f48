// Package localnode holds the memory in which the local tiers keep their entries: the node of one
// entry, and the table that finds nodes. It is a separate package because package cache embeds
// nodes in its entries, and two tiers share the table.
package localnode

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// Node is the memory in which a local tier keeps one entry. A caller can embed a Node in its own
// struct and pass the pointer to it as the entry: then the tier allocates nothing for the entry, and
// a hit finds the entry and its node in the same cache line. The zero Node is ready to use. All its
// fields belong to the tier. A Node takes 40 bytes; a hit reads the first 16.
type Node struct {
	Hash    uint64        // immutable
	Seen    atomic.Uint32 // hits; each tier counts them in its own way
	boxed   bool          // immutable; it is part of a box
	Place   Place         // protected by the shard's mutex
	Held    bool          // for tier/ristretto: ristretto holds the node
	cost    atomic.Uint32 // of a node that no box has, plus one; 0: no tier has used it
	Entered uint32        // for tier/ristretto: how many nodes had entered the list when this one did

	// A list. The shard's mutex protects it and Entered. New nodes enter at the newest end.
	Older, Newer *Node
}

// box is the node of an entry that is no free Node, or whose cost a Node cannot hold. The Node comes
// first, so its address is that of the box.
type box struct {
	Node
	entry any
	price int64
}

// Of returns a node for e. It is e itself, if e is a *Node, unless that node is or was in use:
// readers without a lock may still read it. A negative cost counts as zero.
func Of(hash uint64, e any, cost int64) *Node {
	cost = max(cost, 0)
	n, ok := e.(*Node)
	if !ok || cost >= math.MaxUint32 || !n.cost.CompareAndSwap(0, uint32(cost)+1) {
		b := &box{entry: e, price: cost}
		n, b.boxed = &b.Node, true
	}
	n.Hash = hash
	return n
}

// Entry returns the entry as it was given to Set.
func (n *Node) Entry() any {
	if n.boxed {
		return (*box)(unsafe.Pointer(n)).entry
	}
	return n
}

// Cost returns the cost as it was given to Set.
func (n *Node) Cost() int64 {
	if n.boxed {
		return (*box)(unsafe.Pointer(n)).price
	}
	return int64(n.cost.Load()) - 1
}

// Place says which part of the tier holds a node. The table finds a node in every place except the
// zero one. The tier names the places.
type Place uint8
