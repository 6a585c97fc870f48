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
	lengths  []int // of the prefixes, ascending; a superfluous length costs a look-up and is harmless
}

func newScopeTable() scopeTable {
	return scopeTable{tags: memory[uint64]{size: maxBlock}, prefixes: memory[prefix]{size: maxBlock}}
}

func (t *scopeTable) put(s invalidate.Fence, f fenced, settled uint64) (due bool) {
	if s.Kind != invalidate.KindPrefix {
		t.anyTag = t.anyTag.newest(f)
		return t.tags.put(s.Hash, f, settled)
	}
	if i, known := slices.BinarySearch(t.lengths, s.Len); !known {
		t.lengths = slices.Insert(t.lengths, i, s.Len)
	}
	return t.prefixes.put(prefix{s.Hash, s.Len}, f, settled)
}

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
	if len(t.prefixes.blocks) == 0 {
		t.lengths = nil
	}
}

// judge compares the fences with an entry.
func (t *scopeTable) judge(s *suspect) (v verdict) {
	if t.prefixes.forgotten > s.born {
		v = forgotten
	}
	for _, tag := range s.tags {
		v = max(v, t.judgeTag(tag, s.born))
	}
	if v != covered && anyPrefix(s.key, t.lengths, func(p prefix) bool { return t.prefixes.find(p).tick > s.born }) {
		v = covered
	}
	return v
}

// refuses reports whether a frame as of a position is older than a fence. A frame that may be older
// than a forgotten fence is refused, too.
func (t *scopeTable) refuses(asOf invalidate.Position, key string, tags []uint64) bool {
	if asOf < t.prefixes.floor || len(tags) > 0 && asOf < t.tags.floor {
		return true
	}
	for _, tag := range tags {
		if t.tag(tag).pos > asOf {
			return true
		}
	}
	return anyPrefix(key, t.lengths, func(p prefix) bool { return t.prefixes.find(p).pos > asOf })
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
