package cache

import (
	"cmp"
	"slices"

	"github.com/twofold-go/twofold/policy"
)

// spacePolicy_ is the policy in force for a namespace, or for one tenant's share of it.
type spacePolicy_ struct {
	Namespace string        // of the caches
	Tenant    string        // empty: all tenants without overrides of their own
	Policy    policy.Policy // with the overrides of the table applied
}

// Policies returns the policies in force, sorted by namespace and tenant.
func (t *core_) Policies() []spacePolicy_ {
	t.mu.Lock()
	bases := slices.Clone(t.used.bases)
	t.mu.Unlock()
	table := *t.policies.Load()
	var all []spacePolicy_
	for _, b := range bases {
		shared := table.For(b.Policy, "", b.namespace)
		all = append(all, spacePolicy_{Namespace: b.namespace, Policy: shared})
		for i := range table {
			tenant := table[i].Tenant
			if own := table.For(b.Policy, tenant, b.namespace); own != shared {
				all = append(all, spacePolicy_{Namespace: b.namespace, Tenant: tenant, Policy: own})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b spacePolicy_) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Tenant, b.Tenant))
	})
	return slices.Compact(all) // the table may name a tenant several times
}
