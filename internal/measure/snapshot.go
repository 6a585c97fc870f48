package measure

import (
	"cmp"
	"slices"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Snapshot holds the numbers of one process at one time.
type Snapshot struct {
	Spaces  []SpaceNumbers // by namespace and tenant, in their order
	Total   Numbers        // of all spaces
	Rest    Numbers        // of what belongs to no space
	Breaker string         // "" without a remote tier
	Local   tier.LocalStats
	Fences  invalidate.FenceStats
	Log     invalidate.LogStats
}

// SpaceNumbers are the numbers of one namespace and tenant.
type SpaceNumbers struct {
	Namespace, Tenant string
	Numbers
}

// Take adds the numbers of all counters to the snapshot.
func (s *Snapshot) Take(spaces []*Counters, rest *Counters) {
	s.Rest = rest.Numbers()
	for _, c := range spaces {
		n := c.Numbers()
		s.Spaces = append(s.Spaces, SpaceNumbers{c.Space.Namespace, c.Space.Tenant, n})
		s.Total.Add(&n)
	}
	slices.SortFunc(s.Spaces, func(a, b SpaceNumbers) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Tenant, b.Tenant))
	})
}

// breakerStates are the values of Snapshot.Breaker.
var breakerStates = []string{"closed", "half-open", "open"}

// breaker returns 1 for the breaker's state and 0 for the others. Without a remote tier it
// returns nothing.
func (s *Snapshot) breaker() []int64 {
	if s.Breaker == "" {
		return nil
	}
	n := make([]int64, len(breakerStates))
	n[slices.Index(breakerStates, s.Breaker)] = 1
	return n
}
