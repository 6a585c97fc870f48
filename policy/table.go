package policy

import (
	"fmt"
	"time"
)

// Patch changes some fields of a [Policy]: a nil pointer inherits. Its zero
// value changes nothing. With Go 1.26, new(time.Minute) makes the pointers.
// Its tags are the fields' names in JSON: see [Table.UnmarshalJSON].
type Patch struct {
	TTL            *time.Duration `json:"ttl"`
	NegativeTTL    *time.Duration `json:"negative_ttl"`
	NegativeErrors *time.Duration `json:"negative_errors"`
	Jitter         *float64       `json:"jitter"`
	Stale          *time.Duration `json:"stale"`
	StaleIfError   *time.Duration `json:"stale_if_error"`
	RefreshAhead   *float64       `json:"refresh_ahead"`
	SoftTimeout    *time.Duration `json:"soft_timeout"`
	LoadTimeout    *time.Duration `json:"load_timeout"`
	LocalTTL       *time.Duration `json:"local_ttl"`
	Admit          AdmitPatch     `json:"admit"`
	MaxValueBytes  *int           `json:"max_value_bytes"`
	RemoteTimeout  *time.Duration `json:"remote_timeout"`
	Off            *bool          `json:"off"`
}

// AdmitPatch changes some fields of [Admit]: a nil pointer inherits.
type AdmitPatch struct {
	MinLoad *time.Duration `json:"min_load"`
	OnlyOK  *bool          `json:"only_ok"`
}

// Apply returns p with the patch's fields in place. The result shares nothing
// with the patch.
func (q Patch) Apply(p Policy) Policy {
	set(&p.TTL, q.TTL)
	set(&p.NegativeTTL, q.NegativeTTL)
	set(&p.NegativeErrors, q.NegativeErrors)
	set(&p.Jitter, q.Jitter)
	set(&p.Stale, q.Stale)
	set(&p.StaleIfError, q.StaleIfError)
	set(&p.RefreshAhead, q.RefreshAhead)
	set(&p.SoftTimeout, q.SoftTimeout)
	set(&p.LoadTimeout, q.LoadTimeout)
	set(&p.LocalTTL, q.LocalTTL)
	set(&p.Admit.MinLoad, q.Admit.MinLoad)
	set(&p.Admit.OnlyOK, q.Admit.OnlyOK)
	set(&p.MaxValueBytes, q.MaxValueBytes)
	set(&p.RemoteTimeout, q.RemoteTimeout)
	set(&p.Off, q.Off)
	return p
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// Override patches the policy of a tenant, of a namespace, of one tenant's
// share of a namespace, or, with both names empty, of everything.
type Override struct {
	Tenant    string `json:"tenant"`    // empty: every tenant
	Namespace string `json:"namespace"` // empty: every namespace
	Patch
}

// Table holds overrides. They apply from the least to the most specific, field
// by field, whatever their order in the table:
//
//	everything < namespace < tenant < tenant and namespace
//
// A tenant beats a namespace because it is how one customer is switched off or
// slowed down: {Tenant: "acme", Off} has to win over any namespace's settings
// without a look at which namespaces there are. Who wants an exception from
// that names both.
//
// A nil Table overrides nothing. A Table decodes from JSON, see
// [Table.UnmarshalJSON]. It is not to be changed while others read it; to swap
// overrides at run time, swap tables.
type Table []Override

// For returns the policy of one tenant's share of a namespace: base, with what
// the table says. An empty name in the question meets only the overrides that
// leave that name empty too. For allocates nothing and takes up to four passes
// over the table; a cache keeps the answer instead of asking at each read.
func (t Table) For(base Policy, tenant, namespace string) Policy {
	p := t.apply(base, scope{})
	if namespace != "" {
		p = t.apply(p, scope{namespace: namespace})
	}
	if tenant != "" {
		p = t.apply(p, scope{tenant: tenant})
	}
	if tenant != "" && namespace != "" {
		p = t.apply(p, scope{tenant, namespace})
	}
	return p
}

func (t Table) apply(p Policy, s scope) Policy {
	for i := range t {
		if t[i].Tenant == s.tenant && t[i].Namespace == s.namespace {
			p = t[i].Apply(p)
		}
	}
	return p
}

// scope is what an override is for.
type scope struct{ tenant, namespace string }

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
