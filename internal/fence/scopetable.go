package fence

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
)

// prefix identifies a prefix. The hash is not enough: an attacker can construct a second
// prefix with the same hash, and it would never be looked up at its own length.
type prefix struct {
	hash uint64
	len  int
}

// scopeTable remembers the newest fence of each prefix and each tag, and of everything. One table has
// hard fences, the other one soft fences. Hard fences of keys are in recentKeys instead.
type scopeTable struct {
	keys     memory[uint64]
	tags     memory[uint64]
	anyTag   fenced // the newest fence of any tag, for entries that carry AnyTag
	prefixes memory[prefix]
	stems    memory[uint64] // the prefixes again, by hash only: for built values, whose parts have no spelling
	lengths  []int          // of the prefixes, ascending; a length that no prefix has any more costs a look-up and is harmless
	all      fenced         // the newest fence of everything
}

// resize sets the number of scopes in a block.
func (t *scopeTable) resize(n int) {
	t.keys.size, t.tags.size, t.prefixes.size, t.stems.size = n, n, n, n
}

func (t *scopeTable) put(s *Hashed, f fenced, settled uint64) (due bool) {
	switch {
	case s.Kind == invalidate.KindKey:
		return t.keys.put(s.Hash, f, settled)
	case s.Kind == invalidate.KindAll:
		t.all = t.all.newest(f)
		return false
	case s.Kind == invalidate.KindTag:
		t.anyTag = t.anyTag.newest(f)
		return t.tags.put(s.Hash, f, settled)
	case s.Len == builtLen:
		return t.stems.put(s.Hash, f, settled)
	}
	if i, known := slices.BinarySearch(t.lengths, s.Len); !known {
		t.lengths = slices.Insert(t.lengths, i, s.Len)
	}
	due = t.stems.put(s.Hash, f, settled)
	return t.prefixes.put(prefix{s.Hash, s.Len}, f, settled) || due
}

// urgent returns the tick that writers wait for, or 0; see memory.
func (t *scopeTable) urgent() uint64 {
	return max(t.keys.urgent, t.tags.urgent, t.prefixes.urgent, t.stems.urgent)
}

// drop drops the fences that a flush with this floor has made redundant.
func (t *scopeTable) drop(floor invalidate.Position) {
	t.keys.drop(floor)
	t.tags.drop(floor)
	t.prefixes.drop(floor)
	t.stems.drop(floor)
	if len(t.prefixes.blocks) == 0 {
		t.lengths = nil
	}
}

// visitor gets the newest fence of a scope, or the zero value if none is remembered. Forgot is the tick
// of the newest forgotten fence that may be of the same scope.
type visitor func(f fenced, forgot uint64)

// visit calls see for everything, for each tag of a value, for each prefix of its key that has a fence,
// and for the keys and each prefix of its parts. For a prefix that ends within an id,
// [BuiltOf] is a fence of the prefix up to its last colon. Fences that took their
// ticks up to since may be left out.
func (t *scopeTable) visit(key string, d *Deps, since uint64, see visitor) {
	see(t.all, 0)
	for _, tag := range d.tags() {
		if tag == invalidate.AnyTag {
			see(t.anyTag, 0)
		} else {
			see(t.tags.find(tag), t.tags.forgotten)
		}
	}
	if d.built() {
		visitParts(&t.stems, d, d.Prefixes, since, see)
		visitParts(&t.keys, d, nil, since, see)
	}
	anyPrefix(key, t.lengths, func(p prefix) bool {
		see(t.prefixes.find(p), 0)
		return false
	})
}

// visitParts calls see for the keys of a value's parts, and for more hashes. A prefix may be a whole
// key.
func visitParts(m *memory[uint64], d *Deps, more []uint64, since uint64, see visitor) {
	switch {
	case len(m.blocks) == 0 || m.newest().tick <= since:
	case d.anyKey():
		see(m.newest(), 0)
	default:
		unknown := false
		for _, hashes := range [...][]uint64{more, d.Keys} {
			for _, h := range hashes {
				if f := m.find(h); f.tick > since {
					see(f, 0)
				} else {
					unknown = unknown || f.tick == 0
				}
			}
		}
		if unknown { // once for all parts
			see(fenced{}, m.forgotten)
		}
	}
}

// check compares the fences with an entry.
func (t *scopeTable) check(s *suspect) (v verdict) {
	if t.prefixes.forgotten > s.born {
		v = forgotten
	}
	t.visit(s.key, s.deps, s.born, func(f fenced, forgot uint64) { v = max(v, f.check(s.born, forgot)) })
	return v
}

// refuses reports whether a frame as of a position is older than a fence. A frame that may be older
// than a forgotten fence is refused, too.
func (t *scopeTable) refuses(asOf invalidate.Position, key string, d *Deps) bool {
	yes := asOf < t.floorFor(d)
	t.visit(key, d, 0, func(f fenced, _ uint64) { yes = yes || f.pos > asOf })
	return yes
}

// floorFor returns the highest position of a forgotten fence that may concern the frame of a value.
func (t *scopeTable) floorFor(d *Deps) invalidate.Position {
	floor := max(t.prefixes.floor, t.keys.floor)
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
