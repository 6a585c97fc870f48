package workload

import (
	"strings"
	"testing"
)

// TestReasonsAreOfGoals: if a goal is renamed, its reason must be renamed, too.
func TestReasonsAreOfGoals(t *testing.T) {
	goals := (&Env{}).Goals()
	for begins, why := range reasons {
		n := 0
		for _, g := range goals {
			if strings.HasPrefix(g.What, begins) && g.Why == why {
				n++
			}
		}
		if n == 0 {
			t.Errorf("no goal begins with %q", begins)
		}
	}
}

func TestGoalsHaveLimits(t *testing.T) {
	for _, g := range (&Env{}).Goals() {
		if _, _, err := g.Limit(); err != nil {
			t.Errorf("%s: %v", g.What, err)
		}
	}
}
