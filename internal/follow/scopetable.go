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

// prefix stands for a prefix. The hash alone would not do: a second prefix of the same
// hash can be made on purpose, and it would never be looked for at its own length.
type prefix struct {
	hash uint64
	len  int
}

// scopeTable remembers the newest fence of each prefix and each tag.
type scopeTable struct {
	tags     memory[uint64]
	anyTag   fenced // the newest of all fences of tags, for those who carry AnyTag
	prefixes memory[prefix]
	lengths  []int // of the prefixes, ascending; one too many costs a look-up, and does no harm
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

// tag returns the newest fence of a tag; its zero value: none is remembered.
func (t *scopeTable) tag(hash uint64) fenced {
	if hash == invalidate.AnyTag {
		return t.anyTag
	}
	return t.tags.find(hash)
}

// judgeTag holds the newest fence of a tag against what was marked at a tick.
func (t *scopeTable) judgeTag(hash, born uint64) verdict {
	if hash != invalidate.AnyTag {
		return t.tags.judge(hash, born)
	}
	if t.anyTag.tick > born {
		return covered
	}
	return unfenced
}

// drop drops the fences that a flush with this floor has made needless.
func (t *scopeTable) drop(floor invalidate.Position) {
	t.tags.drop(floor)
	t.prefixes.drop(floor)
	if len(t.prefixes.blocks) == 0 {
		t.lengths = nil
	}
}

// judge holds the fences against an entry.
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

// refuses reports whether a frame that is as of a position is older than a fence. Of one
// that may be older than a forgotten fence, the worst is believed.
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

// anyPrefix reports whether f holds for a prefix of key that has one of the lengths,
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
