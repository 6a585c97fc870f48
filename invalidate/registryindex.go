package invalidate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A registration and an entity point at each other by position, so that either
// side is left in one step, however many keys an entity has, and no set is kept
// per entity.
//
// One lock guards it all. Stripes by hash were tried, of keys and of entities,
// 1 to 256: on two cores they cost more than they saved, since what everybody
// stores tends to share an entity such as "posts". A registration takes about
// half a microsecond, on a path that has just loaded something.

// registration is one token's.
type registration struct {
	key   string
	token Token
	refs  []entityRef // sorted by name
}

// entityRef is a registration's place among the users of an entity.
type entityRef struct {
	entity *entity
	at     int // in entity.users
}

// entity is in Registry.entities as long as it has a user.
type entity struct {
	name  string
	users []user
}

// user is an entity's place among the refs of a registration.
type user struct {
	reg *registration
	ref int // in reg.refs
}

// fits reports whether there is room for a registration of n entities in place
// of old.
func (r *Registry) fits(old *registration, n int) error {
	if old == nil && len(r.keys.m) >= r.maxKeys {
		return fmt.Errorf("%w: it holds %d keys", ErrRegistryFull, len(r.keys.m))
	}
	if old != nil {
		n -= len(old.refs)
	}
	if n > 0 && r.pairs+n > r.maxPairs {
		return fmt.Errorf("%w: it holds %d of %d pairs, and %d more are wanted", ErrRegistryFull, r.pairs, r.maxPairs, n)
	}
	return nil
}

// link makes reg a user of the entities named.
func (r *Registry) link(reg *registration, names []string) {
	r.pairs += len(names)
	for i, name := range names {
		e := r.entities.m[name]
		if e == nil {
			e = &entity{name: strings.Clone(name)} // it may be a piece of a page
			r.entities.put(e.name, e)
		}
		reg.refs[i] = entityRef{entity: e, at: len(e.users)}
		e.users = append(e.users, user{reg: reg, ref: i})
	}
}

// unlink ends that. The last user of each entity moves to the place that
// becomes free.
func (r *Registry) unlink(reg *registration) {
	r.pairs -= len(reg.refs)
	for _, ref := range reg.refs {
		e := ref.entity
		last := len(e.users) - 1
		moved := e.users[last]
		e.users[ref.at] = moved
		moved.reg.refs[moved.ref].at = ref.at
		e.users[last] = user{}
		e.users = e.users[:last]
		if last == 0 {
			r.entities.delete(e.name)
		} else if last >= 32 && last < cap(e.users)/4 {
			e.users = slices.Clone(e.users)
		}
	}
}

// shrinkMap is a map that gives memory back, which Go's own does not: when it
// has been four times as large it is copied to one of its size. That costs a
// deletion no more than an insertion, on average.
type shrinkMap[V any] struct {
	m    map[string]V
	peak int // its largest size since it was made
}

func newShrinkMap[V any]() shrinkMap[V] { return shrinkMap[V]{m: map[string]V{}} }

func (s *shrinkMap[V]) put(k string, v V) {
	s.m[k] = v
	s.peak = max(s.peak, len(s.m))
}

func (s *shrinkMap[V]) delete(k string) {
	delete(s.m, k)
	if s.peak < 64 || len(s.m) >= s.peak/4 {
		return
	}
	// maps.Clone would keep the size.
	small := make(map[string]V, len(s.m))
	maps.Copy(small, s.m)
	s.m, s.peak = small, len(small)
}
