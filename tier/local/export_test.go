package local

import (
	"sync"

	"github.com/puzpuzpuz/xsync/v4"
)

// Charged returns what counts against MaxBytes: costs and Overhead of every
// entry, and of those about to be visible.
func (t *Tier) Charged() (total, front int64) { return t.total.Load(), t.front.Load() }

// Drain passes the queue to ristretto, however short it is.
func (t *Tier) Drain() {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	t.drainLocked(halfReturns)
}

// AtHandover sets the hook that runs when ristretto has answered a drain and
// nothing of it was acted on.
func (t *Tier) AtHandover(f func()) {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	t.main.atHandover = f
}

// SpillAll empties the front into the queue.
func (t *Tier) SpillAll() { t.shrinkBy(&t.shards[0], 1<<62) }

// InMain reports whether ristretto holds a node of hash, dead or alive, and
// which entry it is. No drain may run beside it.
func (t *Tier) InMain(hash uint64) (any, bool) {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	n, ok := t.main.lfu.Get(hash)
	if !ok {
		return nil, false
	}
	return n.Entry, true
}

// Shards returns the number of shards.
func (t *Tier) Shards() int { return len(t.shards) }

// Table is the lock-free table alone, for its test and the comparison with
// other tables.
type Table struct{ table }

// NewTable returns an empty table.
func NewTable() *Table {
	t := new(Table)
	t.reset()
	return t
}

// Put makes e the entry of hash.
func (t *Table) Put(hash uint64, e any) { t.put(&node{Hash: hash, Entry: e}) }

// Remove removes the entry of hash.
func (t *Table) Remove(hash uint64) bool { return t.remove(hash) != nil }

// Load is what Get does with a table.
func (t *Table) Load(hash uint64) (any, bool) {
	n := t.block.Load().load(hash)
	if n == nil {
		return nil, false
	}
	touch(n)
	return n.Entry, true
}

// Size returns the number of entries and of cells.
func (t *Table) Size() (live, cells int) { return t.live, len(t.block.Load().cells) }

// Sieve is the hand's list alone.
type Sieve struct {
	list  sieve
	nodes map[uint64]*node
}

// Add pushes hash.
func (s *Sieve) Add(hash uint64) {
	if s.nodes == nil {
		s.nodes = map[uint64]*node{}
	}
	s.nodes[hash] = &node{Hash: hash}
	s.list.push(s.nodes[hash])
}

// Hit sets the bit of hash.
func (s *Sieve) Hit(hash uint64) { touch(s.nodes[hash]) }

// Remove unlinks hash.
func (s *Sieve) Remove(hash uint64) { s.list.unlink(s.nodes[hash]) }

// Evict returns the hand's choice.
func (s *Sieve) Evict() uint64 { return s.list.evict(func(uint64) {}).Hash }

// Tables holds the same nodes in each table that could find them for a tier.
// Every Load does what Get does: find the node, set its bit, read its entry.
type Tables struct {
	own   [64]table
	xsync *xsync.Map[uint64, *node]
	std   sync.Map
	plain map[uint64]*node
}

// NewTables returns tables of the hashes given.
func NewTables(hashes []uint64) *Tables {
	t := &Tables{xsync: xsync.NewMap[uint64, *node](), plain: map[uint64]*node{}}
	for i := range t.own {
		t.own[i].reset()
	}
	for _, h := range hashes {
		n := &node{Hash: h, Entry: h}
		t.own[mix(h)>>58].put(n)
		t.xsync.Store(h, n)
		t.std.Store(h, n)
		t.plain[h] = n
	}
	return t
}

// Own loads from the tier's table, sharded as a tier of 128 MiB is.
func (t *Tables) Own(h uint64) bool {
	n := t.own[mix(h)>>58].block.Load().load(h)
	return n != nil && read(n)
}

// Xsync loads from xsync.Map.
func (t *Tables) Xsync(h uint64) bool {
	n, ok := t.xsync.Load(h)
	return ok && read(n)
}

// Std loads from sync.Map.
func (t *Tables) Std(h uint64) bool {
	n, ok := t.std.Load(h)
	return ok && read(n.(*node))
}

// Plain loads from a map without a lock.
func (t *Tables) Plain(h uint64) bool {
	n, ok := t.plain[h]
	return ok && read(n)
}

func read(n *node) bool {
	touch(n)
	return n.Entry != nil
}
