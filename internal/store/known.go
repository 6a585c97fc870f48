package store

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/invalidate"
)

// tenants is a set of names in 8 KB: 65,536 bits, one per name, chosen by its hash. It never
// grows. It cannot distinguish two names that share a bit. The zero set is empty.
type tenants [1024]atomic.Uint64

// add adds a name and reports whether it was not in the set.
func (s *tenants) add(seed maphash.Seed, name string) bool {
	word, bit := s.bit(seed, name)
	return word.Load()&bit == 0 && word.Or(bit)&bit == 0
}

// has reports whether a name, or one that shares its bit, is in the set.
func (s *tenants) has(seed maphash.Seed, name string) bool {
	word, bit := s.bit(seed, name)
	return word.Load()&bit != 0
}

func (s *tenants) bit(seed maphash.Seed, name string) (*atomic.Uint64, uint64) {
	h := maphash.String(seed, name)
	return &s[h>>6%uint64(len(s))], 1 << (h % 64)
}

// noteStrangers counts the scopes of tenants that no cache of this process has used, and logs
// each such tenant once. This may be correct, because another process may use the tenant. But a
// caller may also have left the tenant out, and then the next argument takes its place.
func (t *Core) noteStrangers(scopes []invalidate.Scope) {
	for _, s := range scopes {
		tenant := s.Tenant()
		if tenant == "" || t.known.has(t.Seed, tenant) {
			continue
		}
		t.All.Inc(measure.InvalidatedStrangers)
		if t.strangers.add(t.Seed, tenant) {
			t.Log.Warn("cache: an invalidation names a tenant that no cache of this process has used; is the tenant the first argument?",
				"tenant", tenant, "kind", s.Kind())
		}
	}
}
