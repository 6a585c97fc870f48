package invalidate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/twofold-go/twofold/key"
)

// MaxEntityLen is the longest entity of a [Registry], in bytes: the longest
// tag, with a tenant before it.
const MaxEntityLen = key.MaxLen + MaxTagLen

// The errors of a [Registry].
var (
	// ErrRegistryFull says that a registration found no room. What it was for
	// must not be stored: nobody would find it again.
	ErrRegistryFull = errors.New("invalidate: registry is full")

	// ErrRegistration is wrapped by every error about a key or an entity that
	// cannot be registered.
	ErrRegistration = errors.New("invalidate: bad registration")
)

// RegistryConfig bounds a [Registry]. The zero value is a million keys with
// eight entities each.
type RegistryConfig struct {
	// MaxKeys bounds the keys. Zero or less: 1,048,576.
	MaxKeys int

	// MaxPairs bounds the pairs of a key and an entity; each takes some 40
	// bytes. Zero or less: 8,388,608.
	MaxPairs int
}

// Registry is a two-way index between what is cached and what it was made of:
// which cached keys show "post:7", and what does this page show? Entities are
// strings; of several tenants, they carry the tenant's name, as keys do.
//
// It is kept by whoever stores: [Registry.Register] before an entry becomes
// visible, [Registry.Unregister] with the token that Register returned once it
// is gone, whether it was deleted, replaced, evicted or never stored. Then it
// names every entry that is there, and holds nothing else.
//
// Make one with [NewRegistry]. All methods may be called concurrently; the
// slices they return belong to the caller.
type Registry struct {
	maxKeys, maxPairs int

	mu       sync.Mutex // protects the rest
	tokens   Token      // the newest
	pairs    int
	keys     shrinkMap[*registration]
	entities shrinkMap[*entity]
}

// Token names one registration of a key. The zero Token names none.
type Token uint64

// NewRegistry returns an empty registry.
func NewRegistry(cfg RegistryConfig) *Registry {
	return &Registry{
		maxKeys:  cmp.Or(max(cfg.MaxKeys, 0), 1<<20),
		maxPairs: cmp.Or(max(cfg.MaxPairs, 0), 8<<20),
		keys:     newShrinkMap[*registration](),
		entities: newShrinkMap[*entity](),
	}
}

// Register notes that what will be stored under k is made of the entities, and
// returns the token that ends the registration. It must return before the entry
// becomes visible, or an invalidation in between would not find it.
//
// A key that is registered is registered anew: with these entities only, and
// only with the new token. So the late notice of the older entry's end, which
// comes with the older token, does not touch the new one. What is still visible
// of the older entry is no longer found by entities that only it had; either it
// is taken away first or it is judged by [Fences] when it is read, as package
// cache does.
//
// Entities that repeat count once, and a key may have none. k is kept, so it
// should not be a piece of a larger string. Errors wrap [ErrRegistryFull] or
// [ErrRegistration], and leave everything as it was.
func (r *Registry) Register(k string, entities ...string) (Token, error) {
	if err := validateRegistration(k, entities); err != nil {
		return 0, err
	}
	var few [8]string
	names := append(few[:0], entities...)
	slices.Sort(names)
	names = slices.Compact(names)
	reg := &registration{key: k, refs: make([]entityRef, len(names))}

	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.keys.m[k]
	if err := r.fits(old, len(names)); err != nil {
		return 0, err
	}
	r.tokens++
	reg.token = r.tokens
	r.link(reg, names)
	if old != nil {
		r.unlink(old)
	}
	r.keys.put(k, reg)
	return reg.token, nil
}

// Unregister ends the registration of k that has the token, and reports whether
// there was one. It may be called any number of times.
func (r *Registry) Unregister(k string, token Token) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	reg := r.keys.m[k]
	if reg == nil || reg.token != token {
		return false
	}
	r.keys.delete(k)
	r.unlink(reg)
	return true
}

// Keys returns the keys that are made of the entity, sorted; nil if there are
// none.
func (r *Registry) Keys(entity string) []string {
	r.mu.Lock()
	e := r.entities.m[entity]
	if e == nil {
		r.mu.Unlock()
		return nil
	}
	keys := make([]string, len(e.users))
	for i, u := range e.users {
		keys[i] = u.reg.key
	}
	r.mu.Unlock()
	slices.Sort(keys)
	return keys
}

// Count returns how many keys are made of the entity.
func (r *Registry) Count(entity string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.entities.m[entity]; e != nil {
		return len(e.users)
	}
	return 0
}

// Entities returns what k is made of, sorted; nil if it has no entities or is
// not registered.
func (r *Registry) Entities(k string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	reg := r.keys.m[k]
	if reg == nil || len(reg.refs) == 0 {
		return nil
	}
	names := make([]string, len(reg.refs))
	for i, ref := range reg.refs {
		names[i] = ref.entity.name
	}
	return names
}

// Len returns how many keys there are, how many entities they are made of, and
// how many pairs of a key and an entity that makes.
func (r *Registry) Len() (keys, entities, pairs int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.keys.m), len(r.entities.m), r.pairs
}

func validateRegistration(k string, entities []string) error {
	if k == "" || len(k) > key.MaxLen {
		return fmt.Errorf("%w: key has %d bytes, want 1 to %d", ErrRegistration, len(k), key.MaxLen)
	}
	for _, e := range entities {
		if e == "" || len(e) > MaxEntityLen {
			return fmt.Errorf("%w: entity has %d bytes, want 1 to %d", ErrRegistration, len(e), MaxEntityLen)
		}
	}
	return nil
}
