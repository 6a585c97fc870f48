package cache

import (
	"cmp"
	"slices"

	"github.com/twofold-go/twofold/policy"
)

// SpacePolicy is the policy in force for a namespace, or for one tenant's share of it.
type SpacePolicy struct {
	Namespace string        // of the caches
	Tenant    string        // empty: every tenant that has none of its own
	Policy    policy.Policy // with the overrides of the table
}

// Policies returns the policies in force of the caches made on these Tiers, by namespace and
// tenant, in their order: one for all tenants, and one for each tenant that the table of
// overrides names and whose policy differs from that. A namespace whose caches have
// different policies is there several times. The slice is the caller's.
func (t *Tiers) Policies() []SpacePolicy {
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
	return slices.Compact(all) // a tenant may be in the table several times
}
