package follow

import (
	"slices"

	"github.com/twofold-go/twofold/invalidate"
)

// How long a fence is remembered exactly.
//
// # Mechanism
//
// The fences of one kind are in blocks of some 131,072 different scopes, the newest block
// first. A full block is sealed, and a new one begun. At half of that the owner of the
// entries is asked to judge all of them once ([Fences.OnForget]): each entry that is clear
// then notes the tick it was judged at, so that no fence in a sealed block concerns it any
// more. When the next block is full, older sealed blocks are dropped.
//
// # Memory
//
// A block takes up to 7 MB, 9 MB for prefixes. Two blocks of a kind are kept as a rule, and
// four at most: 28 MB for keys, as much for tags, 36 MB for prefixes.
//
// # Cost of overflow
//
// When fences come faster than entries are judged, the fourth block pushes the oldest out
// all the same. What was marked before the newest forgotten fence counts as covered then,
// unless something else vouches for it; FenceStats.Forgotten counts that. It can happen to
// an entry that the walk missed as well, and to a load that takes longer than a block lasts.
const (
	maxBlock  = 1 << 17
	maxBlocks = 4
)

// fenced is the newest fence of one scope.
type fenced struct {
	tick uint64
	pos  invalidate.Position
}

func (f fenced) newest(g fenced) fenced { return fenced{max(f.tick, g.tick), max(f.pos, g.pos)} }

// memory remembers the newest fence of each scope of one kind for a while. Its owner's lock
// protects it. Ticks are taken under that lock, so a later put has a higher tick.
type memory[K comparable] struct {
	size      int                 // scopes in a block
	blocks    []block[K]          // the newest first
	forgotten uint64              // tick of the newest fence that was dropped
	floor     invalidate.Position // no dropped fence has a higher position
}

type block[K comparable] struct {
	fences map[K]fenced
	top    uint64              // their highest tick
	high   invalidate.Position // their highest position
}

// put notes a fence. Settled is the tick at which all entries were judged. It reports
// whether they are to be judged again before long.
func (m *memory[K]) put(k K, f fenced, settled uint64) (due bool) {
	if len(m.blocks) == 0 || len(m.blocks[0].fences) >= m.size {
		m.turn(settled)
	}
	b := &m.blocks[0]
	b.fences[k] = f.newest(b.fences[k])
	b.top, b.high = max(b.top, f.tick), max(b.high, f.pos)
	// Not at once: the shards of a table are full at about the same time, and one walk
	// will do for them. A load that began before the walk is stored by then, too.
	return len(m.blocks) > 1 && m.blocks[1].top > settled && len(b.fences) >= m.size/2
}

// turn begins a block. Of the sealed ones it keeps the newest, and those that some entry
// may not have been held against.
func (m *memory[K]) turn(settled uint64) {
	var again map[K]fenced
	for n := len(m.blocks); n >= maxBlocks || n >= 2 && m.blocks[n-1].top <= settled; n-- {
		old := m.blocks[n-1]
		m.forgotten, m.floor = max(m.forgotten, old.top), max(m.floor, old.high)
		m.blocks = slices.Delete(m.blocks, n-1, n)
		again = old.fences
	}
	if again == nil {
		again = make(map[K]fenced)
	}
	clear(again)
	m.blocks = slices.Insert(m.blocks, 0, block[K]{fences: again})
}

// find returns the newest fence of a scope; its zero value: none is remembered.
func (m *memory[K]) find(k K) (f fenced) {
	for i := range m.blocks {
		f = f.newest(m.blocks[i].fences[k])
	}
	return f
}

// judge holds the newest fence of a scope against what was marked at a tick.
func (m *memory[K]) judge(k K, born uint64) verdict {
	switch f := m.find(k); {
	case f.tick > born:
		return covered
	case f.tick == 0 && m.forgotten > born:
		return forgotten
	}
	return unfenced
}

// drop forgets the blocks that no position above floor is in. Whatever they cover is dead
// by then.
func (m *memory[K]) drop(floor invalidate.Position) {
	m.blocks = slices.DeleteFunc(m.blocks, func(b block[K]) bool { return b.high <= floor })
}

func (m *memory[K]) len() (n int) {
	for _, b := range m.blocks {
		n += len(b.fences)
	}
	return n
}
