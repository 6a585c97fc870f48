package fence

import (
	"slices"

	"github.com/twofold-go/twofold/invalidate"
)

// How long a fence is remembered exactly.
//
// # Mechanism
//
// The fences of one kind are in blocks of up to 131,072 different scopes, the newest block first. A
// full block is sealed, and a new one begins. When the new block is half full, the owner of the
// entries must check all of them once ([Fences.OnForget]). Each clear entry then notes the tick of
// that check, so no fence in a sealed block concerns it any more. When the new block is full, the
// older sealed blocks are dropped.
//
// With more than a million entries a block has room for an eighth of their number
// ([Fences.Expect]). So each fence pays for the check of a few entries, no matter how many exist.
//
// # Memory
//
// A block takes up to 7 MB, or 9 MB for prefixes. Usually two blocks of a kind are kept, and never
// more than four: 28 MB for keys, 28 MB for tags, 36 MB for prefixes, and 28 MB for the hashes of
// prefixes, which the check of built values needs. With more than a million entries, 28 MB becomes up
// to 28 bytes for each entry. A walk takes up to 16 bytes for each fence that is newer than the last
// walk; see [Survey].
//
// # Back-pressure
//
// Fences may arrive faster than entries can be checked. The fourth block is a reserve: while it is
// in use and the oldest block is not settled, writers wait for the walk before they store a fence
// ([Fences.Await]). Readers never wait. The wait is bounded, so the reserve can become full.
//
// # Cost of overflow
//
// When the reserve is full, the next block replaces the oldest. An entry or load marked before the
// newest forgotten fence then counts as covered, unless another check finds it clear;
// FenceStats.Forgotten counts that. This can also happen to an entry that the walk missed, and to a
// load that takes longer than a block lasts.
const (
	maxBlock  = 1 << 17
	maxBlocks = 4
)

// verdict is the result of a check against the fences; a higher one overrules a lower one.
type verdict uint8

const (
	unfenced  verdict = iota // no fence covers it
	unspelled                // its key must be known first
	forgotten                // a fence that is no longer remembered may cover it
	covered
)

// fenced is the newest fence of one scope.
type fenced struct {
	tick uint64
	pos  invalidate.Position
}

func (f fenced) newest(g fenced) fenced { return fenced{max(f.tick, g.tick), max(f.pos, g.pos)} }

// check compares the newest fence of a scope with something marked at the tick born. Forgot is the
// tick of the newest fence that was forgotten and may be of the same scope.
func (f fenced) check(born, forgot uint64) verdict {
	switch {
	case f.tick > born:
		return covered
	case f.tick == 0 && forgot > born:
		return forgotten
	}
	return unfenced
}

// memory remembers the newest fence of each scope of one kind for a while. The lock of its owner
// protects it. Ticks are taken under that lock, so a later put has a higher tick.
type memory[K comparable] struct {
	size      int                 // scopes in a block
	blocks    []block[K]          // the newest first
	forgotten uint64              // tick of the newest fence that was dropped
	floor     invalidate.Position // no dropped fence has a higher position
	urgent    uint64              // writers wait until the entries are checked at this tick; 0: no wait
}

type block[K comparable] struct {
	fences map[K]fenced
	top    uint64              // the highest tick in fences
	high   invalidate.Position // the highest position in fences
}

// put notes a fence. Settled is the tick at which all entries were checked. put reports whether
// they must be checked again soon.
func (m *memory[K]) put(k K, f fenced, settled uint64) (due bool) {
	if len(m.blocks) == 0 || len(m.blocks[0].fences) >= m.size {
		m.turn(settled)
	}
	b := &m.blocks[0]
	b.fences[k] = f.newest(b.fences[k])
	b.top, b.high = max(b.top, f.tick), max(b.high, f.pos)
	// Only a half full block asks for a walk. The shards of a table become full at about the same
	// time, and one walk serves all of them. A load that began before the walk is stored by then, too.
	return len(m.blocks) > 1 && m.blocks[1].top > settled && len(b.fences) >= m.size/2
}

// turn begins a new block. It keeps the newest block, and those that some entry may not have been
// compared with.
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
	if m.urgent = 0; len(m.blocks) == maxBlocks {
		m.urgent = m.blocks[maxBlocks-1].top
	}
}

// find returns the newest fence of a scope, or the zero value if none is remembered.
func (m *memory[K]) find(k K) (f fenced) {
	for i := range m.blocks {
		f = f.newest(m.blocks[i].fences[k])
	}
	return f
}

// check compares the newest fence of a scope with something marked at the tick born.
func (m *memory[K]) check(k K, born uint64) verdict { return m.find(k).check(born, m.forgotten) }

// drop forgets the blocks without a position above floor. Everything that they cover is already
// dead.
func (m *memory[K]) drop(floor invalidate.Position) {
	m.blocks = slices.DeleteFunc(m.blocks, func(b block[K]) bool { return b.high <= floor })
}

// newest returns the highest tick and the highest position of all fences, also of forgotten ones.
func (m *memory[K]) newest() fenced {
	f := fenced{tick: m.forgotten, pos: m.floor}
	for _, b := range m.blocks {
		f = f.newest(fenced{tick: b.top, pos: b.high})
	}
	return f
}

func (m *memory[K]) len() (n int) {
	for _, b := range m.blocks {
		n += len(b.fences)
	}
	return n
}
