package resident

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// View is one tenant's part of a store. Two views of one tenant are equivalent.
type View struct {
	// What a hit reads.
	*Store
	seed     uint64
	resolved atomic.Pointer[Resolved]
	Counts   *measure.Counters

	Home                           // of its entries; its owner is the view
	Name  string                   // "tenant:namespace"
	Err   error                    // the tenant's name is not valid
	stems atomic.Pointer[[]uint64] // see Prefixes
}

// Store is one cache without its types. MaxTenants of its views are kept, with their own counters.
// The others are made on demand and share counters; the most recent ones of these are also kept.
type Store struct {
	Core      *Core
	Kind      Kind
	namespace string
	keyType   reflect.Type
	Far       *remote.Tier // nil: without a remote tier
	Skip      Tiers        // that no call of the view touches
	loader    any          // of the Config, for Kind.Load; nil: none
	LoadsMany bool         // the Config has LoadMany
	Tagged    bool         // the Config has Tags
	MaxBatch  int
	remote.Payloads
	size     func(ptr any) int64 // of a value, with what it points to; nil: estimate and the length of its encoding
	estimate func(ptr any) int64
	keySize  func(ptr any) int64 // of a key
	fixed    int64               // of an item without both
	blanks   *sync.Pool          // see slotOf
	Flights  any                 // of the engine; only it knows their type

	base      policy.Policy
	Refreshes *atomic.Int64 // of all caches of the namespace
	kept      sync.Map      // string → *View
	nkept     atomic.Int64
	recent    [1024]atomic.Pointer[View] // by a hash of the tenant
	unnamed   atomic.Pointer[Resolved]   // of tenants that the table does not name
	others    func() *measure.Counters   // of tenants that are not kept
	Remarks   *Remarks
}

// Resolved is a policy in force.
type Resolved struct {
	table  *policy.Table
	Sample int64 // which hits may be audited; see sampleOf
	policy.Policy
	Usual Usual // of the policy
}

// unresolved is of no table.
var unresolved = new(Resolved)

// Of returns the view of a tenant.
func (s *Store) Of(tenant string) *View {
	recent := &s.recent[maphash.String(s.Core.Seed, tenant)%uint64(len(s.recent))]
	if v := recent.Load(); v != nil && v.Space.Tenant == tenant {
		return v
	}
	v := s.newView(tenant)
	if v.Err == nil {
		recent.Store(v)
	}
	return v
}

func (s *Store) newView(tenant string) *View {
	if v, ok := s.kept.Load(tenant); ok {
		return v.(*View)
	}
	v := &View{Store: s, Name: tenant + ":" + s.namespace}
	// Taken from the view's name: the string of which tenant is a part can then be freed.
	v.Space = key.Space{Tenant: v.Name[:len(tenant)], Namespace: s.namespace}
	v.seed = maphash.String(s.Core.Seed, v.Name)
	v.Fences, v.Owner = s.Core.Fences, v
	v.resolved.Store(unresolved)
	most := int64(s.Core.Config.MaxTenants)
	if v.Err = v.Space.Validate(); v.Err != nil {
		v.Counts = s.Core.All // its calls fail before they count
		v.Name = fmt.Sprintf("%.100s", v.Name)
	} else if v.In = v.Fences.Open(tenant, s.namespace, v); s.nkept.Load() >= most || s.nkept.Add(1) > most {
		v.Counts = s.others()
	} else {
		v.Counts = s.Core.countersOf(v.Space)
		if old, loaded := s.kept.LoadOrStore(v.Space.Tenant, v); loaded {
			s.nkept.Add(-1)
			return old.(*View)
		}
	}
	return v
}

// Spell returns the full key of an integer with one allocation. For other types it returns the
// zero Key.
func (v *View) Spell(k any) (key.Key, error) {
	var memory [96]byte
	b := append(append(memory[:0], v.Name...), ':')
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

// ViewOf returns the view of an entry.
func ViewOf(it *Entry) *View { return it.Home.Owner.(*View) }

// KeyOf and the next two implement [Owner].
func (v *View) KeyOf(e *Entry) (key.Key, error) { return v.Kind.Spell(e) }

// Value returns a pointer to an entry's value.
func (v *View) Value(e *Entry) any { return v.Kind.Value(e) }

// Now returns the time, and whether the Tiers are open.
func (v *View) Now() (now int64, open bool) { return v.Core.Now(), !v.Core.Work.Closed() }

// Policy returns the policy in force. It costs two atomic loads, until the table is replaced.
func (v *View) Policy() *policy.Policy { return &v.InForce().Policy }

// InForce is Policy for a hit, which also needs to know whether it may be audited.
func (v *View) InForce() *Resolved {
	if r := v.resolved.Load(); r.table == v.Core.policies.Load() {
		return r
	}
	return v.resolve()
}

// resolve is the rare part of Policy, kept out of its callers' stacks. Tenants that the table
// does not name share its result.
//
//go:noinline
func (v *View) resolve() *Resolved {
	table := v.Core.policies.Load()
	shared, tenant := &v.unnamed, ""
	for i := range *table {
		if (*table)[i].Tenant == v.Space.Tenant {
			shared, tenant = &v.resolved, v.Space.Tenant
			break
		}
	}
	r := shared.Load()
	if r == nil || r.table != table {
		p := table.For(v.base, tenant, v.namespace)
		r = &Resolved{table: table, Sample: sampleOf(p.Audit), Policy: p}
		shared.Store(r)
	}
	v.resolved.Store(r)
	return r
}

// sampleOf returns the bits by which [measure.Chosen] chooses the local hits that may be audited: about one
// hit in 1/share, and no fewer than the sample has anyway.
func sampleOf(share float64) int64 {
	every := int64(measure.Sampled)
	for every > 1 && share*float64(every) > 1 {
		every /= 2
	}
	return every - 1
}

// otherTenant is the name under which tenants beyond MaxTenants are counted.
const otherTenant = "other"

// countersOf returns the counters of a space, or those of "other" if there are too many.
func (t *Core) countersOf(s key.Space) *measure.Counters {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts[s] == nil && len(t.counts) >= t.Config.MaxTenants {
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

// NameOf returns the name of a key in errors: its ID is "" if the key cannot be spelled.
func (v *View) NameOf(id string) string {
	if id == "" {
		return v.Name
	}
	return v.Name + ":" + id
}

// ValueOf returns an entry's value.
func (v *View) ValueOf(it *Entry) any {
	return reflect.ValueOf(v.Kind.Value(it)).Elem().Interface()
}

// Mix makes an address in the local tier of a hash of a typed key.
func (v *View) Mix(hash uint64) uint64 {
	hi, lo := bits.Mul64(hash^v.seed, 0x9e3779b97f4a7c15)
	return hi ^ lo
}

// Unusable returns why every call of the view fails, or nil.
func (v *View) Unusable() error {
	if v.Core.Work.Closed() {
		return fault.ErrClosed
	}
	return v.Err
}
