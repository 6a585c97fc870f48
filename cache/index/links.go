package index

import (
	"maps"
	"slices"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// A registration and a tag point at each other by position. Removing either end therefore takes one
// step, no matter how many entries carry a tag, and no tag needs a set.
//
// One lock guards everything. An earlier version used 1 to 256 stripes, by hash of the key and of
// the tag. On two cores it was slower, because most entries tend to share a tag such as "posts".

// registration holds one entry. While an entry replaces another of its key, both have one.
type registration struct {
	entry cache.Entry
	key   string
	older *registration // of the same key
	refs  []tagRef
	built built // nil: the value was not built from others
}

// built is an entry of package cache, which may be built from other cached values.
type built interface {
	Built() bool
	BuiltFrom(s invalidate.Scope) bool
}

// builtOf returns an entry that was built from other cached values, or nil.
func builtOf(e cache.Entry) built {
	if b, ok := e.(built); ok && b.Built() {
		return b
	}
	return nil
}

// tagRef is a registration's place among the users of a tag.
type tagRef struct {
	tag *tag
	at  int // in tag.users
}

// tag is in Index.tags as long as it has users.
type tag struct {
	hash  uint64
	text  string // "" until an entry with the text is stored
	users []user
}

// len returns the number of users. Nil has none.
func (t *tag) len() int {
	if t == nil {
		return 0
	}
	return len(t.users)
}

// user is a tag's place among the refs of a registration.
type user struct {
	reg *registration
	ref int // in reg.refs
}

// spelled is a tag as an entry returns it.
type spelled struct {
	hash uint64
	text string
}

// link makes reg a user of the tags.
func (x *Index) link(reg *registration, tags []spelled) {
	x.stats.Pairs += len(tags)
	reg.refs = make([]tagRef, len(tags))
	for i, named := range tags {
		t := x.tags.m[named.hash]
		if t == nil {
			t = &tag{hash: named.hash}
			x.tags.put(t.hash, t)
		}
		if t.text == "" {
			t.text = named.text
		}
		reg.refs[i] = tagRef{tag: t, at: len(t.users)}
		t.users = append(t.users, user{reg: reg, ref: i})
	}
}

// unlink undoes link. The last user of each tag moves to the free place.
func (x *Index) unlink(reg *registration) {
	x.stats.Pairs -= len(reg.refs)
	for _, ref := range reg.refs {
		t := ref.tag
		last := len(t.users) - 1
		moved := t.users[last]
		t.users[ref.at] = moved
		moved.reg.refs[moved.ref].at = ref.at
		t.users[last] = user{}
		t.users = t.users[:last]
		if last == 0 {
			x.tags.delete(t.hash)
		} else if last >= 32 && last < cap(t.users)/4 {
			t.users = slices.Clone(t.users)
		}
	}
}

// take removes the registration of an entry from its key. It returns nil if there is none.
func (x *Index) take(key string, e cache.Entry) *registration {
	var newer *registration
	reg := x.keys.m[key]
	for reg != nil && reg.entry != e {
		newer, reg = reg, reg.older
	}
	switch {
	case reg == nil:
	case newer != nil:
		newer.older = reg.older
	case reg.older != nil:
		x.keys.put(key, reg.older)
	default:
		x.keys.delete(key)
	}
	return reg
}

// shrinkMap is a map that returns memory, unlike Go's own. When it has shrunk to a quarter of its
// largest size, it is copied to a new map. On average, that makes a deletion cost no more than an
// insertion.
type shrinkMap[K comparable, V any] struct {
	m    map[K]V
	peak int // the largest size of m

	copies int // how often m was copied
}

func newShrinkMap[K comparable, V any]() shrinkMap[K, V] { return shrinkMap[K, V]{m: map[K]V{}} }

func (s *shrinkMap[K, V]) put(k K, v V) {
	s.m[k] = v
	s.peak = max(s.peak, len(s.m))
}

func (s *shrinkMap[K, V]) delete(k K) {
	delete(s.m, k)
	if s.peak < 64 || len(s.m) >= s.peak/4 {
		return
	}
	// maps.Clone would keep the capacity.
	small := make(map[K]V, len(s.m))
	maps.Copy(small, s.m)
	s.m, s.peak = small, len(small)
	s.copies++
}
