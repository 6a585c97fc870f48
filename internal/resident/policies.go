package resident

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
	defer t.mu.Unlock()
	table := *t.policies.Load()
	var all []SpacePolicy
	for name, s := range t.used {
		for _, base := range s.bases {
			shared := table.For(base, "", name)
			all = append(all, SpacePolicy{Namespace: name, Policy: shared})
			for i := range table {
				tenant := table[i].Tenant
				if own := table.For(base, tenant, name); own != shared {
					all = append(all, SpacePolicy{Namespace: name, Tenant: tenant, Policy: own})
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b SpacePolicy) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Tenant, b.Tenant))
	})
	return slices.Compact(all) // the table may name a tenant several times
}
