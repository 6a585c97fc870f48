package follow

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
)

func compareFences(a, b invalidate.Fence) int {
	soft := func(f invalidate.Fence) int {
		if f.Soft {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(soft(a), soft(b)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Hash, b.Hash), cmp.Compare(a.Len, b.Len), cmp.Compare(a.Hold, b.Hold))
}

// prefix identifies a prefix. The hash alone is not enough: an attacker can construct a second
// prefix with the same hash, and it would never be looked up at its own length.
type prefix struct {
	hash uint64
	len  int
}

// scopeTable remembers the newest fence of each prefix and each tag.
type scopeTable struct {
	tags     memory[uint64]
	anyTag   fenced // the newest fence of any tag, for entries that carry AnyTag
	prefixes memory[prefix]
	stems    memory[uint64] // the prefixes again, by hash alone: for built values, whose parts have no spelling
	lengths  []int          // of the prefixes, ascending; a superfluous length costs a look-up and is harmless
}

func newScopeTable() scopeTable {
	return scopeTable{tags: memory[uint64]{size: maxBlock}, prefixes: memory[prefix]{size: maxBlock}, stems: memory[uint64]{size: maxBlock}}
}

func (t *scopeTable) put(s invalidate.Fence, f fenced, settled uint64) (due bool) {
	if s.Kind != invalidate.KindPrefix {
		t.anyTag = t.anyTag.newest(f)
		return t.tags.put(s.Hash, f, settled)
	}
	if s.Len == invalidate.BuiltLen {
		return t.stems.put(s.Hash, f, settled)
	}
	if i, known := slices.BinarySearch(t.lengths, s.Len); !known {
		t.lengths = slices.Insert(t.lengths, i, s.Len)
	}
	due = t.stems.put(s.Hash, f, settled)
	return t.prefixes.put(prefix{s.Hash, s.Len}, f, settled) || due
}

// urgent returns the tick that writers wait for, or 0; see memory.
func (t *scopeTable) urgent() uint64 { return max(t.tags.urgent, t.prefixes.urgent, t.stems.urgent) }

// tag returns the newest fence of a tag, or the zero value if none is remembered.
func (t *scopeTable) tag(hash uint64) fenced {
	if hash == invalidate.AnyTag {
		return t.anyTag
	}
	return t.tags.find(hash)
}

// judgeTag compares the newest fence of a tag with something marked at the tick born.
func (t *scopeTable) judgeTag(hash, born uint64) verdict {
	if hash != invalidate.AnyTag {
		return t.tags.judge(hash, born)
	}
	if t.anyTag.tick > born {
		return covered
	}
	return unfenced
}

// drop drops the fences that a flush with this floor has made redundant.
func (t *scopeTable) drop(floor invalidate.Position) {
	t.tags.drop(floor)
	t.prefixes.drop(floor)
	t.stems.drop(floor)
	if len(t.prefixes.blocks) == 0 {
		t.lengths = nil
	}
}

// judge compares the fences with an entry.
func (t *scopeTable) judge(s *suspect) (v verdict) {
	if t.prefixes.forgotten > s.born {
		v = forgotten
	}
	for _, tag := range s.deps.tags() {
		v = max(v, t.judgeTag(tag, s.born))
	}
	if s.deps.built() {
		v = max(v, t.judgeParts(s))
	}
	if v != covered && anyPrefix(s.key, t.lengths, func(p prefix) bool { return t.prefixes.find(p).tick > s.born }) {
		v = covered
	}
	return v
}

// judgeParts compares the fences of prefixes with the parts of a value. For a prefix that ends within
// an id, [invalidate.Scope.BuiltFence] is a fence of the prefix up to its last colon.
func (t *scopeTable) judgeParts(s *suspect) (v verdict) {
	switch d := s.deps; {
	case t.stems.newest().tick <= s.born:
	case d.anyKey():
		v = covered
	default:
		for _, p := range d.Prefixes {
			v = max(v, t.stems.judge(p, s.born))
		}
		for _, k := range d.Keys { // a prefix may be a whole key
			v = max(v, t.stems.judge(k, s.born))
		}
	}
	return v
}

// partFences calls hold with the fence of each prefix that covers a part of a value.
func (t *scopeTable) partFences(d *Deps, hold func(fenced)) {
	switch {
	case len(t.stems.blocks) == 0:
	case d.anyKey():
		hold(t.stems.newest())
	default:
		for _, p := range d.Prefixes {
			hold(t.stems.find(p))
		}
		for _, k := range d.Keys {
			hold(t.stems.find(k))
		}
	}
}

// refuses reports whether a frame as of a position is older than a fence. A frame that may be older
// than a forgotten fence is refused, too.
func (t *scopeTable) refuses(asOf invalidate.Position, key string, d *Deps) (yes bool) {
	if asOf < t.floorFor(d) {
		return true
	}
	for _, tag := range d.tags() {
		if t.tag(tag).pos > asOf {
			return true
		}
	}
	if d.built() {
		if t.partFences(d, func(f fenced) { yes = yes || f.pos > asOf }); yes {
			return true
		}
	}
	return anyPrefix(key, t.lengths, func(p prefix) bool { return t.prefixes.find(p).pos > asOf })
}

// floorFor returns the highest position of a forgotten fence that may concern the frame of a value.
func (t *scopeTable) floorFor(d *Deps) invalidate.Position {
	floor := t.prefixes.floor
	if len(d.tags()) > 0 {
		floor = max(floor, t.tags.floor)
	}
	if d.built() {
		floor = max(floor, t.stems.floor)
	}
	return floor
}

// anyPrefix reports whether f holds for a prefix of key with one of the lengths, which are
// ascending. One incremental hash pass serves all of them.
func anyPrefix(key string, lengths []int, f func(prefix) bool) bool {
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
		if f(prefix{d.Sum64(), n}) {
			return true
		}
	}
	return false
}
