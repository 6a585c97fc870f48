package localnode

import (
	"iter"
	"math/bits"
	"sync/atomic"
)

// Mix spreads a hash over all 64 bits; it is a bijection. Weak hashes, such as small integers or
// numbers that differ only in their high bits, then cost at most a longer probe and never a crowded
// shard.
func Mix(hash uint64) uint64 {
	hash ^= hash >> 32
	return hash * 0x9E3779B97F4A7C15
}

// cell is one place of a block. The tag stands beside the pointer, so a probe that passes
// another key rarely fetches that key's node. Only writers use the end. So a cell takes 16 bytes.
type cell struct {
	tag  atomic.Uint32 // 32 bits of the mixed hash; they also tell the home
	end  Tick          // of the node; zero: it has none
	node atomic.Pointer[Node]
}

// tomb fills a cell whose node was removed while probes may still have to pass the cell.
var tomb = new(Node)

// Why our own table: with the same nodes, a look-up took 0.66 of the time of xsync.Map (0.56 to
// 1.77 in ten processes), and as long as a plain map. xsync allocates each key beside its node,
// which costs one more cache miss. sync.Map took 3.5 times as long (BenchmarkTable of internal/bench).

// block is an open-addressed array with linear probing. It is never full. Readers take no lock;
// writers hold the shard's mutex. A block never moves a node, so a reader cannot miss a node that
// stays: growth fills a new block and then publishes it as a whole.
//
// Readers rely on this order: a writer stores the tag and then the node. A reader loads the node
// and then the tag, and then compares the node's hash. If the cell was reused in between, the
// node's hash differs, and the reader probes on.
type block struct{ cells []cell }

const minCells = 16

func newBlock(cells int) *block { return &block{cells: make([]cell, cells)} }

// tagOf returns 32 bits of a mixed hash. The strongest of them, which tell the home, are those that
// spread weak hashes best (TestWeakHashes). The shard's index comes from the strongest bits of the
// mixed hash, which are not among the 32.
func tagOf(hash uint64) uint32 {
	return bits.RotateLeft32(uint32(Mix(hash)>>24), 20) //nolint:gosec // the middle bits
}

// home returns the cell where the search for a tag begins. The number of cells need not be a power
// of two, so a table can grow in small steps.
func (b *block) home(tag uint32) int {
	return int(uint64(tag) * uint64(len(b.cells)) >> 32) //nolint:gosec // less than the number of cells
}

func (b *block) load(hash uint64) *Node {
	cells, tag := b.cells, tagOf(hash)
	for i := b.home(tag); ; i++ {
		if i == len(cells) {
			i = 0
		}
		c := &cells[i]
		n := c.node.Load()
		if n == nil {
			return nil
		}
		if c.tag.Load() == tag && n.Hash == hash && n != tomb {
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
	b, free, tag := t.block.Load(), -1, tagOf(n.Hash)
	for i := b.home(tag); ; i = b.next(i) {
		c := &b.cells[i]
		switch was := c.node.Load(); {
		case was == nil:
			if free < 0 {
				free = i
				t.used++
			}
			b.fill(free, tag, n)
			t.setEnd(&b.cells[free], end)
			t.live++
			t.growIfFull(b)
			return nil
		case was == tomb:
			if free < 0 {
				free = i
			}
		case c.tag.Load() == tag && was.Hash == n.Hash: // the tag first: the node is elsewhere in memory
			c.node.Store(n)
			t.setEnd(c, end)
			return was
		}
	}
}

func (b *block) next(i int) int {
	if i++; i < len(b.cells) {
		return i
	}
	return 0
}

func (b *block) before(i int) int {
	if i > 0 {
		return i - 1
	}
	return len(b.cells) - 1
}

func (b *block) fill(i int, tag uint32, n *Node) {
	b.cells[i].tag.Store(tag)
	b.cells[i].node.Store(n)
}

// Remove removes and returns the node of hash, or nil if there is none.
func (t *Table) Remove(hash uint64) *Node {
	b, tag := t.block.Load(), tagOf(hash)
	for i := b.home(tag); ; i = b.next(i) {
		n := b.cells[i].node.Load()
		if n == nil {
			return nil
		}
		if n != tomb && b.cells[i].tag.Load() == tag && n.Hash == hash {
			t.empty(b, i)
			return n
		}
	}
}

// empty frees cell i. If the next cell is empty, no probe passes cell i, so it and the tombs before
// it become empty again. Under steady eviction this keeps tombs rare and rebuilds rarer.
func (t *Table) empty(b *block, i int) {
	t.live--
	t.setEnd(&b.cells[i], 0)
	b.cells[i].node.Store(tomb)
	if b.cells[b.next(i)].node.Load() != nil {
		return
	}
	for ; b.cells[i].node.Load() == tomb; i = b.before(i) {
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

// growIfFull keeps three cells in ten empty. The live nodes determine the size of the new block:
// they fill four cells in seven. So a table full of tombs is rebuilt, and one that shrank gets
// smaller. With larger steps, a table that has just grown would waste more memory.
func (t *Table) growIfFull(b *block) {
	if t.used*10 <= len(b.cells)*7 {
		return
	}
	grown := newBlock(max(minCells, t.live*7/4))
	for i := range b.cells {
		c := &b.cells[i]
		n := c.node.Load()
		if n == nil || n == tomb {
			continue
		}
		tag := c.tag.Load()
		to := grown.home(tag)
		for grown.cells[to].node.Load() != nil {
			to = grown.next(to)
		}
		grown.fill(to, tag, n)
		grown.cells[to].end = c.end
	}
	t.used = t.live
	t.ends.restart()
	t.block.Store(grown)
}
