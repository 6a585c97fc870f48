// Package localnode has the memory in which the local tier keeps one entry. It is a package
// of its own so that package cache can lay it out inside its entries.
package localnode

import "sync/atomic"

// Node is the memory in which package local keeps one entry. An entry that embeds
// one brings it along: the tier then allocates nothing for it, and a hit finds
// the entry around the node, in the same line of memory. Embed it in a struct whose
// pointer is the entry; the zero Node is ready. Everything in it belongs to the tier.
// It takes 64 bytes, and what a hit reads are the first 28.
type Node struct {
	Hash    uint64 // immutable
	Entry   any    // immutable
	Seen    atomic.Uint32
	Place   Place // protected by the shard's mutex
	Held    bool  // ristretto has it; protected by handover.mu
	Taken   atomic.Bool
	Entered uint32 // how many had entered the SIEVE list when it did
	Cost    int64  // immutable; as given to Set

	// The SIEVE list, protected by the shard's mutex, as Entered is. New nodes enter
	// at the newest end.
	Older, Newer *Node
}

// LocalNode returns n. It is how a tier finds the node of an entry that embeds
// one.
func (n *Node) LocalNode() *Node { return n }

// Place says which part of the tier answers for a node. The table finds a node
// in every place but the zero one. The tier names them.
type Place uint8
