package workload

import "testing"

func TestGoalsHaveLimits(t *testing.T) {
	for _, g := range (&Env{}).Goals() {
		if _, _, err := g.Limit(); err != nil {
			t.Errorf("%s: %v", g.What, err)
		}
	}
}
