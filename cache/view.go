package cache

import (
	"math/bits"
	"time"

	"github.com/twofold-go/twofold/internal/measure"

	"fmt"
	"hash/maphash"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	calls "github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// view is one tenant's part of a store. Two views of one tenant are equivalent.
type view struct {
	*store
	space    key.Space
	name     string // "tenant:namespace"
	err      error  // the tenant's name is not valid
	seed     uint64
	resolved atomic.Pointer[resolved]
	stems    atomic.Pointer[[]uint64] // see prefixes
	counts   *measure.Counters
}

// store is one cache without its types. MaxTenants of its views are kept, with their own counters.
// The others are made on demand and share counters; the most recent ones of these are also kept.
type store struct {
	t         *core_
	kind      kind
	namespace string
	keyType   reflect.Type
	far       *remote.Tier // nil: without a remote tier
	loader    any          // of the Config, for kind.Load; nil: none
	loadsMany bool         // the Config has LoadMany
	tagged    bool         // the Config has Tags
	maxBatch  int
	payloads
	size    func(ptr any) int64 // of a value, with what it points to
	keySize func(ptr any) int64 // of a key
	fixed   int64               // of an item without both
	flights *calls.Group[*flight, outcome]

	base      policy.Policy
	refreshes *atomic.Int64 // of all caches of the namespace
	kept      sync.Map      // string → *view
	nkept     atomic.Int64
	recent    [1024]atomic.Pointer[view] // by a hash of the tenant
	unnamed   atomic.Pointer[resolved]   // of tenants that the table does not name
	others    func() *measure.Counters   // of tenants that are not kept
	remarks   auditRemarks
}

type resolved struct {
	table  *policy.Table
	sample int64 // which hits may be audited; see sampleOf
	policy.Policy
}

func (s *store) of(tenant string) *view {
	recent := &s.recent[maphash.String(s.t.seed, tenant)%uint64(len(s.recent))]
	if v := recent.Load(); v != nil && v.space.Tenant == tenant {
		return v
	}
	v := s.newView(tenant)
	if v.err == nil {
		recent.Store(v)
	}
	return v
}

func (s *store) newView(tenant string) *view {
	if v, ok := s.kept.Load(tenant); ok {
		return v.(*view)
	}
	v := &view{store: s, name: tenant + ":" + s.namespace}
	// From the view's name, so that the view does not keep the string of which tenant is a part.
	v.space = key.Space{Tenant: v.name[:len(tenant)], Namespace: s.namespace}
	v.seed = maphash.String(s.t.seed, v.name)
	most := int64(s.t.cfg.MaxTenants)
	if v.err = v.space.Validate(); v.err == nil {
		s.t.known.add(s.t.seed, tenant)
	}
	if v.err != nil {
		v.counts = s.t.all // its calls fail before they count
		v.name = fmt.Sprintf("%.100s", v.name)
	} else if s.nkept.Load() >= most || s.nkept.Add(1) > most {
		v.counts = s.others()
	} else {
		v.counts = s.t.countersOf(v.space)
		if old, loaded := s.kept.LoadOrStore(v.space.Tenant, v); loaded {
			s.nkept.Add(-1)
			return old.(*view)
		}
	}
	return v
}

// spell returns the full key of an integer with one allocation. For other types it returns the
// zero Key.
func (v *view) spell(k any) (key.Key, error) {
	var memory [96]byte
	b := append(append(memory[:0], v.name...), ':')
	switch k := k.(type) {
	case int:
		b = strconv.AppendInt(b, int64(k), 10)
	case int64:
		b = strconv.AppendInt(b, k, 10)
	case uint64:
		b = strconv.AppendUint(b, k, 10)
	default:
		return key.Key{}, nil
	}
	return key.Parse(string(b))
}

// policy returns the policy in force. It costs two atomic loads, until the table is replaced.
func (v *view) policy() *policy.Policy { return &v.inForce().Policy }

// inForce is policy for a hit, which also needs to know whether it may be audited.
func (v *view) inForce() *resolved {
	table := v.t.policies.Load()
	if r := v.resolved.Load(); r != nil && r.table == table {
		return r
	}
	return v.resolve(table)
}

// resolve is the rare part of policy, kept out of its callers' stacks. Tenants that the table
// does not name share its result.
//
//go:noinline
func (v *view) resolve(table *policy.Table) *resolved {
	shared, tenant := &v.unnamed, ""
	for i := range *table {
		if (*table)[i].Tenant == v.space.Tenant {
			shared, tenant = &v.resolved, v.space.Tenant
			break
		}
	}
	r := shared.Load()
	if r == nil || r.table != table {
		p := table.For(v.base, tenant, v.namespace)
		r = &resolved{table, sampleOf(p.Audit), p}
		shared.Store(r)
	}
	v.resolved.Store(r)
	return r
}

// refreshesOf returns the number of running background refreshes of a namespace, for all
// tenants.
func (t *core_) refreshesOf(namespace string) *atomic.Int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.refreshes[namespace]
	if n == nil {
		n = new(atomic.Int64)
		t.refreshes[namespace] = n
	}
	return n
}

// otherTenant is the name under which tenants beyond MaxTenants are counted.
const otherTenant = "other"

// countersOf returns the counters of a space, or those of "other" if there are too many.
func (t *core_) countersOf(s key.Space) *measure.Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[s] == nil && len(t.counts) >= t.cfg.MaxTenants {
		s.Tenant = otherTenant
	}
	c := t.counts[s]
	if c == nil {
		c = measure.Of(s)
		if t.remote != nil {
			c.Far = t.remote.Of(c)
		}
		t.counts[s] = c
	}
	return c
}

// nameOf returns the name of a key in errors: its ID is "" if the key cannot be spelled.
func (v *view) nameOf(id string) string {
	if id == "" {
		return v.name
	}
	return v.name + ":" + id
}

// valueOf returns an entry's value.
func (v *view) valueOf(it *entry) any { return reflect.ValueOf(v.kind.Value(it)).Elem().Interface() }

// hashSeed is the seed of the hashes of typed keys, and mix makes an address of such a hash.
func (v *view) hashSeed() maphash.Seed { return v.t.seed }

func (v *view) mix(hash uint64) uint64 {
	hi, lo := bits.Mul64(hash^v.seed, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// moment returns a time as reads use it, which is never 0.
func (v *view) moment(at time.Time) int64 { return max(int64(at.Sub(v.t.base)), 1) }

// unusable returns why every call of the view fails, or nil.
func (v *view) unusable() error {
	if v.t.work.Closed() {
		return errClosed_
	}
	return v.err
}

// localOnly reports whether the cache has no remote tier.
func (v *view) localOnly() bool { return v.far == nil }

// left names what work of the engine and of this cache has not ended. It takes all turns, so only
// tests call it, at their end.
func (v *view) left() (names []string) {
	for name, left := range map[string]bool{
		"flights":   v.flights.Len() != 0,
		"turns":     !v.t.loads.TryAcquire(int64(v.t.cfg.MaxLoads)),
		"refreshes": !v.t.refresh.TryAcquire(int64(v.t.cfg.MaxRefreshes)),
		"loads":     loading.Load() != 0,
	} {
		if left {
			names = append(names, name)
		}
	}
	return names
}
