package invalidate

import (
	"slices"
	"strconv"
	"strings"
)

// A cache spells its tags as entities in one of two ways: by [TagEntity] if it
// knows their names, and by [HashEntity] if it has only their hashes, as those
// of a value that another process loaded. What follows knows both.

// TagEntity returns the entity that stands for a tag of a tenant.
func TagEntity(tenant, tag string) string { return tenant + ":" + tag }

// HashEntity returns the entity that stands for a tag whose [TagHash] is all
// that is known. No tenant begins like it.
func HashEntity(hash uint64) string {
	const digits = 16
	s := strconv.FormatUint(hash, 16)
	return ":#" + strings.Repeat("0", digits-len(s)) + s
}

// Newest returns the token of the latest registration; zero before the first.
func (r *Registry) Newest() Token {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tokens
}

// Covered returns the keys that an invalidation of s would reach, sorted; nil if
// there are none. A prefix looks at every key.
func (r *Registry) Covered(s Scope) []string {
	r.mu.Lock()
	var keys []string
	for _, reg := range r.covered(s) {
		keys = append(keys, reg.key)
	}
	r.mu.Unlock()
	slices.Sort(keys)
	return keys
}

// Forget ends the registrations that s covers and whose token is upTo or older,
// and returns how many that were. It is for whoever has just invalidated s: what
// is covered and was registered before will not be served again, though it may
// still be there.
func (r *Registry) Forget(s Scope, upTo Token) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, reg := range r.covered(s) {
		if reg.token <= upTo {
			r.keys.delete(reg.key)
			r.unlink(reg)
			n++
		}
	}
	return n
}

// covered returns what s covers, each once. mu is held.
func (r *Registry) covered(s Scope) []*registration {
	var regs []*registration
	switch s.Kind() {
	case KindKey:
		if reg := r.keys.m[s.Text()]; reg != nil {
			regs = append(regs, reg)
		}
	case KindPrefix, KindAll: // whose text is empty
		for k, reg := range r.keys.m {
			if strings.HasPrefix(k, s.Text()) {
				regs = append(regs, reg)
			}
		}
	case KindTag:
		named := r.entities.m[TagEntity(s.Tenant(), s.Text())]
		hashed := r.entities.m[HashEntity(s.Hash())]
		for _, e := range []*entity{named, hashed} {
			if e == nil {
				continue
			}
			for _, u := range e.users {
				regs = append(regs, u.reg)
			}
		}
		if named != nil && hashed != nil { // one may know it both ways
			slices.SortFunc(regs, func(a, b *registration) int { return strings.Compare(a.key, b.key) })
			regs = slices.Compact(regs)
		}
	case kindStrict, kindHold:
	}
	return regs
}
