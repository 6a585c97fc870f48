package local

import (
	"iter"
	"sync/atomic"
)

// mix spreads a hash over all 64 bits by one multiplication (it is a
// bijection), so that a caller with weak hashes, small integers say, costs a
// longer probe at worst and never a crowded shard.
func mix(hash uint64) uint64 { return hash * 0x9E3779B97F4A7C15 }

// cell is one place of a block. The key stands beside the pointer so that a
// probe that passes over a stranger does not fetch the stranger's node.
type cell struct {
	key  atomic.Uint64
	node atomic.Pointer[node]
}

// tomb fills a cell whose node was removed while a probe may still have to
// pass over it.
var tomb = new(node)

// block is an open-addressed array with linear probing; it is never full. Readers
// take no lock; writers hold the shard's mutex. A block never moves a node
// that is in it, so a reader can not miss a node that stands: growth fills a
// new block and publishes it whole.
//
// The order a reader relies on: a writer stores the key, then the node; a
// reader loads the node, then the key, then compares node.hash. A cell that is
// reused in between shows the reader a node whose hash differs, and it probes
// on.
type block struct {
	cells []cell // a power of two
}

const minCells = 16

func newBlock(cells int) *block { return &block{cells: make([]cell, cells)} }

// homeShift drops the weakest bits of a mixed hash; the shard's index is taken
// from the strongest.
const homeShift = 24

func (b *block) home(hash uint64) int {
	return int(mix(hash)>>homeShift) & (len(b.cells) - 1)
}

func (b *block) load(hash uint64) *node {
	cells := b.cells
	for i := b.home(hash); ; i++ {
		c := &cells[i&(len(cells)-1)]
		n := c.node.Load()
		if n == nil {
			return nil
		}
		if c.key.Load() == hash && n.Hash == hash && n != tomb {
			return n
		}
	}
}

// table is a block and the writer's counts of it. Readers load the pointer,
// which only growth writes, so it stands on a cache line of its own; the
// shard's mutex protects the rest.
type table struct {
	block atomic.Pointer[block]
	_     [cacheLine - 8]byte
	used  int // cells that are not empty, tombs included
	live  int
}

const cacheLine = 64

func (t *table) reset() {
	t.used, t.live = 0, 0
	t.block.Store(newBlock(minCells))
}

// put makes n the node of its hash and returns the node that was.
func (t *table) put(n *node) (old *node) {
	b := t.block.Load()
	free := -1
	for i := b.home(n.Hash); ; i = b.step(i, 1) {
		c := &b.cells[i]
		switch was := c.node.Load(); {
		case was == nil:
			if free < 0 {
				free = i
				t.used++
			}
			b.fill(free, n)
			t.live++
			t.growIfFull(b)
			return nil
		case was == tomb:
			if free < 0 {
				free = i
			}
		case was.Hash == n.Hash:
			c.node.Store(n)
			return was
		}
	}
}

func (b *block) step(i, by int) int { return (i + by) & (len(b.cells) - 1) }

func (b *block) fill(i int, n *node) {
	b.cells[i].key.Store(n.Hash)
	b.cells[i].node.Store(n)
}

// remove takes the node of hash out and returns it, or nil when there is none.
func (t *table) remove(hash uint64) *node {
	b := t.block.Load()
	for i := b.home(hash); ; i = b.step(i, 1) {
		n := b.cells[i].node.Load()
		if n == nil {
			return nil
		}
		if n != tomb && n.Hash == hash {
			t.empty(b, i)
			return n
		}
	}
}

// empty frees cell i. When the next cell is empty no probe passes over this
// one, so it and the tombs before it become empty again; under steady eviction
// that keeps tombs rare and rebuilding rarer.
func (t *table) empty(b *block, i int) {
	t.live--
	b.cells[i].node.Store(tomb)
	if b.cells[b.step(i, 1)].node.Load() != nil {
		return
	}
	for ; b.cells[i].node.Load() == tomb; i = b.step(i, -1) {
		b.cells[i].node.Store(nil)
		t.used--
	}
}

// all yields the nodes in no order.
func (t *table) all() iter.Seq[*node] {
	return func(yield func(*node) bool) {
		cells := t.block.Load().cells
		for i := range cells {
			n := cells[i].node.Load()
			if n != nil && n != tomb && !yield(n) {
				return
			}
		}
	}
}

// growIfFull keeps three cells in ten empty. The new block is sized by what
// lives, so a table full of tombs is rebuilt and one that shrank gets smaller.
func (t *table) growIfFull(b *block) {
	if t.used*10 <= len(b.cells)*7 {
		return
	}
	size := minCells
	for size < 2*t.live {
		size *= 2
	}
	grown := newBlock(size)
	for n := range t.all() {
		i := grown.home(n.Hash)
		for grown.cells[i].node.Load() != nil {
			i = grown.step(i, 1)
		}
		grown.fill(i, n)
	}
	t.used = t.live
	t.block.Store(grown)
}
