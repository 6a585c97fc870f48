package policy

import (
	"fmt"
	"time"
)

// Patch changes some fields of a [Policy]. A nil pointer inherits, so an explicit zero differs from
// a missing field: new(time.Duration(0)) turns Throttle off. The zero Patch changes nothing.
// new(time.Minute) makes a pointer.
//
// A cache reads the pointers when it is made; later changes have no effect.
type Patch struct {
	// Each field stands for the field of Policy with the same name.
	TTL           *time.Duration
	Jitter        *float64
	NegativeTTL   *time.Duration
	ErrorTTL      *time.Duration
	Stale         *time.Duration
	StaleIfError  *time.Duration
	Throttle      *time.Duration
	RefreshAhead  *float64
	MaxRefreshes  *int
	SoftTimeout   *time.Duration
	LoadTimeout   *time.Duration
	Detached      *bool
	LocalTTL      *time.Duration
	ReplicaLag    *time.Duration
	MinLoad       *time.Duration
	MaxValueBytes *int
	RemoteTimeout *time.Duration
	Audit         *float64
	Off           *bool
}

// Apply returns p with the fields of the patch. The result shares no memory with the patch.
func (q Patch) Apply(p Policy) Policy {
	set(&p.TTL, q.TTL)
	set(&p.Jitter, q.Jitter)
	set(&p.NegativeTTL, q.NegativeTTL)
	set(&p.ErrorTTL, q.ErrorTTL)
	set(&p.Stale, q.Stale)
	set(&p.StaleIfError, q.StaleIfError)
	set(&p.Throttle, q.Throttle)
	set(&p.RefreshAhead, q.RefreshAhead)
	set(&p.MaxRefreshes, q.MaxRefreshes)
	set(&p.SoftTimeout, q.SoftTimeout)
	set(&p.LoadTimeout, q.LoadTimeout)
	set(&p.Detached, q.Detached)
	set(&p.LocalTTL, q.LocalTTL)
	set(&p.ReplicaLag, q.ReplicaLag)
	set(&p.MinLoad, q.MinLoad)
	set(&p.MaxValueBytes, q.MaxValueBytes)
	set(&p.RemoteTimeout, q.RemoteTimeout)
	set(&p.Audit, q.Audit)
	set(&p.Off, q.Off)
	return p
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Override patches the policy of a tenant, of a namespace, of one tenant's share of a namespace,
// or of everything if both names are empty.
type Override struct {
	Tenant    string // if empty, every tenant
	Namespace string // if empty, every namespace
	Patch
}

// Table holds overrides. They apply field by field, from the least to the most specific, in any
// order in the table:
//
//	everything < namespace < tenant < tenant and namespace
//
// A tenant wins over a namespace, because an operator must be able to turn one customer off:
// {Tenant: "acme", Off} wins over the settings of every namespace. For an exception, name both.
//
// A nil Table overrides nothing. [Table.UnmarshalJSON] reads one from JSON. Do not change a
// Table that others read: to change overrides at run time, swap the whole table.
type Table []Override

// For returns the policy of one tenant's share of a namespace: base with the overrides of the
// table. An empty argument matches only overrides in which that name is empty. For does not
// allocate. It makes up to four passes over the table; a cache keeps the result.
func (t Table) For(base Policy, tenant, namespace string) Policy {
	return scope{tenant, namespace}.over(base, t.apply)
}

func (t Table) apply(p Policy, s scope) Policy {
	for i := range t {
		if t[i].Tenant == s.tenant && t[i].Namespace == s.namespace {
			p = t[i].Apply(p)
		}
	}
	return p
}

type scope struct{ tenant, namespace string }

// over changes a policy by apply for s and for the scopes that contain it, the least specific first.
func (s scope) over(p Policy, apply func(Policy, scope) Policy) Policy {
	p = apply(p, scope{})
	if s.namespace != "" {
		p = apply(p, scope{namespace: s.namespace})
	}
	if s.tenant != "" {
		p = apply(p, scope{tenant: s.tenant})
	}
	if s.tenant != "" && s.namespace != "" {
		p = apply(p, s)
	}
	return p
}

func (s scope) String() string {
	switch {
	case s == scope{}:
		return "everything"
	case s.tenant == "":
		return fmt.Sprintf("namespace %q", s.namespace)
	case s.namespace == "":
		return fmt.Sprintf("tenant %q", s.tenant)
	}
	return fmt.Sprintf("tenant %q, namespace %q", s.tenant, s.namespace)
}
