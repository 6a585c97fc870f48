package store

import (
	"cmp"
	"slices"

	"github.com/twofold-go/twofold/policy"
)

// SpacePolicy is the policy in force for a namespace, or for one tenant's share of it.
type SpacePolicy struct {
	Namespace string        // of the caches
	Tenant    string        // empty: all tenants without overrides of their own
	Policy    policy.Policy // with the overrides of the table applied
}

// Policies returns the policies in force, sorted by namespace and tenant.
func (t *Core) Policies() []SpacePolicy {
	t.mu.Lock()
	bases := slices.Clone(t.used.bases)
	t.mu.Unlock()
	table := *t.policies.Load()
	var all []SpacePolicy
	for _, b := range bases {
		shared := table.For(b.Policy, "", b.namespace)
		all = append(all, SpacePolicy{Namespace: b.namespace, Policy: shared})
		for i := range table {
			tenant := table[i].Tenant
			if own := table.For(b.Policy, tenant, b.namespace); own != shared {
				all = append(all, SpacePolicy{Namespace: b.namespace, Tenant: tenant, Policy: own})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b SpacePolicy) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Tenant, b.Tenant))
	})
	return slices.Compact(all) // the table may name a tenant several times
}
