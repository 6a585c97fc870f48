package localnode

import (
	"iter"
	"sync/atomic"
)

// Mix spreads a hash over all 64 bits; it is a bijection. Weak hashes, such as small integers or
// numbers that differ only in their high bits, then cost at most a longer probe and never a crowded
// shard.
func Mix(hash uint64) uint64 {
	hash ^= hash >> 32
	return hash * 0x9E3779B97F4A7C15
}

// cell is one place of a block. The key is stored beside the pointer, so a probe that passes
// another key does not fetch that key's node.
type cell struct {
	key  atomic.Uint64
	node atomic.Pointer[Node]
}

// tomb fills a cell whose node was removed while probes may still have to pass the cell.
var tomb = new(Node)

// Why our own table: with the same nodes, a look-up took 0.66 of the time of xsync.Map (0.56 to
// 1.77 in ten processes), and as long as a plain map. xsync allocates each key beside its node,
// which costs one more cache miss. sync.Map took 3.5 times as long (BenchmarkTable).

// block is an open-addressed array with linear probing. It is never full. Readers take no lock;
// writers hold the shard's mutex. A block never moves a node, so a reader cannot miss a node that
// stays: growth fills a new block and then publishes it as a whole.
//
// Readers rely on this order: a writer stores the key and then the node. A reader loads the node
// and then the key, and then compares the node's hash. If the cell was reused in between, the
// node's hash differs, and the reader probes on.
type block struct {
	cells []cell // a power of two
	ends  []Tick // of the nodes, by cell; nil if no node has one
}

const minCells = 16

func newBlock(cells int) *block { return &block{cells: make([]cell, cells)} }

// homeShift drops the weakest bits of a mixed hash. The shard's index comes from the strongest
// bits.
const homeShift = 24

func (b *block) home(hash uint64) int {
	return int(Mix(hash)>>homeShift) & (len(b.cells) - 1)
}

func (b *block) load(hash uint64) *Node {
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

// Table finds nodes by their hashes. Readers take no lock; writers must hold one. Call Reset before
// the first use.
//
// Readers load the pointer, and only growth writes it, so it has its own cache line.
type Table struct {
	block atomic.Pointer[block]
	_     [CacheLine - 8]byte
	used  int // cells that are not empty, including tombs
	live  int
	ends  ends
}

// CacheLine is the size of a processor's cache line in bytes.
const CacheLine = 64

// Reset empties the table.
func (t *Table) Reset() {
	t.used, t.live = 0, 0
	t.ends.reset()
	t.block.Store(newBlock(minCells))
}

// Load returns the node of a hash, or nil. It takes no lock and allocates nothing.
func (t *Table) Load(hash uint64) *Node { return t.block.Load().load(hash) }

// Len returns the number of nodes. Only writers may call it.
func (t *Table) Len() int { return t.live }

// Cells returns the number of cells.
func (t *Table) Cells() int { return len(t.block.Load().cells) }

// Put stores n as the node of its hash until end, and returns the previous node, or nil.
func (t *Table) Put(n *Node, end Tick) (old *Node) {
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
			t.setEnd(b, free, end)
			t.live++
			t.growIfFull(b)
			return nil
		case was == tomb:
			if free < 0 {
				free = i
			}
		case was.Hash == n.Hash:
			c.node.Store(n)
			t.setEnd(b, i, end)
			return was
		}
	}
}

func (b *block) step(i, by int) int { return (i + by) & (len(b.cells) - 1) }

func (b *block) fill(i int, n *Node) {
	b.cells[i].key.Store(n.Hash)
	b.cells[i].node.Store(n)
}

// Remove removes and returns the node of hash, or nil if there is none.
func (t *Table) Remove(hash uint64) *Node {
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

// empty frees cell i. If the next cell is empty, no probe passes cell i, so it and the tombs before
// it become empty again. Under steady eviction this keeps tombs rare and rebuilds rarer.
func (t *Table) empty(b *block, i int) {
	t.live--
	t.setEnd(b, i, 0)
	b.cells[i].node.Store(tomb)
	if b.cells[b.step(i, 1)].node.Load() != nil {
		return
	}
	for ; b.cells[i].node.Load() == tomb; i = b.step(i, -1) {
		b.cells[i].node.Store(nil)
		t.used--
	}
}

// All yields the nodes in no order. It takes no lock.
func (t *Table) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		cells := t.block.Load().cells
		for i := range cells {
			n := cells[i].node.Load()
			if n != nil && n != tomb && !yield(n) {
				return
			}
		}
	}
}

// growIfFull keeps three cells in ten empty. The live nodes determine the size of the new block, so
// a table full of tombs is rebuilt, and one that shrank gets smaller.
func (t *Table) growIfFull(b *block) {
	if t.used*10 <= len(b.cells)*7 {
		return
	}
	size := minCells
	for size < 2*t.live {
		size *= 2
	}
	grown := newBlock(size)
	if t.ends.count > 0 {
		grown.ends = make([]Tick, size)
	}
	for i := range b.cells {
		n := b.cells[i].node.Load()
		if n == nil || n == tomb {
			continue
		}
		to := grown.home(n.Hash)
		for grown.cells[to].node.Load() != nil {
			to = grown.step(to, 1)
		}
		grown.fill(to, n)
		if grown.ends != nil {
			grown.ends[to] = b.ends[i]
		}
	}
	t.used = t.live
	t.ends.restart()
	t.block.Store(grown)
}
