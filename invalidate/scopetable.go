package invalidate

import (
	"cmp"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"
)

func compareFences(a, b Fence) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Len, b.Len), cmp.Compare(a.Hold, b.Hold))
}

// scopeFence is the newest fence of one scope.
type scopeFence struct {
	pos  Position
	tick uint64
}

// covers reports whether the fence came after what was marked.
func (s scopeFence) covers(asOf Position, born uint64) bool { return s.pos > asOf || s.tick > born }

// scopeTable holds the newest fence of each prefix and each tag.
type scopeTable struct {
	tags, prefixes map[uint64]scopeFence
	lens           map[int]int // how many prefixes there are of each length
	lengths        []int       // those lengths, ascending
}

func newScopeTable() scopeTable {
	return scopeTable{tags: map[uint64]scopeFence{}, prefixes: map[uint64]scopeFence{}, lens: map[int]int{}}
}

func (t *scopeTable) len() int { return len(t.tags) + len(t.prefixes) }

func (t *scopeTable) put(s Fence, f scopeFence) {
	m := t.tags
	if s.Kind == KindPrefix {
		m = t.prefixes
	}
	old, known := m[s.Hash]
	m[s.Hash] = scopeFence{pos: max(f.pos, old.pos), tick: max(f.tick, old.tick)}
	if s.Kind != KindPrefix || known {
		return
	}
	if t.lens[s.Len]++; t.lens[s.Len] == 1 {
		i, _ := slices.BinarySearch(t.lengths, s.Len)
		t.lengths = slices.Insert(t.lengths, i, s.Len)
	}
}

// forget drops the fences that a flush with this floor has made needless.
func (t *scopeTable) forget(floor Position) {
	old := func(_ uint64, f scopeFence) bool { return f.pos <= floor }
	maps.DeleteFunc(t.tags, old)
	maps.DeleteFunc(t.prefixes, old)
	if len(t.prefixes) == 0 { // a length too many costs a look-up; one too few, the truth
		clear(t.lens)
		t.lengths = nil
	}
}

// median returns a position that half of the fences do not exceed.
func (t *scopeTable) median() Position {
	all := make([]Position, 0, t.len())
	for _, m := range []map[uint64]scopeFence{t.tags, t.prefixes} {
		for _, f := range m {
			all = append(all, f.pos)
		}
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// covers reports whether a prefix of key or one of tags was fenced after what
// was marked.
func (t *scopeTable) covers(asOf Position, born uint64, key string, tags []uint64) bool {
	for _, tag := range tags {
		if t.tags[tag].covers(asOf, born) {
			return true
		}
	}
	return anyPrefix(key, t.lengths, func(hash uint64) bool { return t.prefixes[hash].covers(asOf, born) })
}

// anyPrefix reports whether f holds for the hash of a prefix of key that has
// one of the lengths, ascending. One incremental hash pass serves all of them.
func anyPrefix(key string, lengths []int, f func(hash uint64) bool) bool {
	if len(lengths) == 0 {
		return false
	}
	var d xxhash.Digest
	d.Reset()
	done := 0
	for _, n := range lengths {
		if n > len(key) {
			break
		}
		_, _ = d.WriteString(key[done:n]) // documented never to fail
		done = n
		if f(d.Sum64()) {
			return true
		}
	}
	return false
}
