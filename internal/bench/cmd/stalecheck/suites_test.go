package main

import (
	"slices"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
)

// A fault or a safeguard without a run would be forgotten silently.
func TestFullSuiteHasAll(t *testing.T) {
	suite := fullSuite(20 * time.Second)
	for _, fault := range rig.Faults() {
		if !slices.ContainsFunc(suite, func(c runConfig) bool { return c.Fault == fault && c.Without == "" }) {
			t.Errorf("no run has the fault %s", fault)
		}
	}
	for _, g := range guards {
		if !slices.ContainsFunc(suite, func(c runConfig) bool { return c.Expect != "" && slices.Contains(c.removed(), g) }) {
			t.Errorf("no control removes %s", g)
		}
	}
}

func TestSuites(t *testing.T) {
	if !controls {
		t.Skip("needs -tags twofold_controls")
	}
	for name, suite := range map[string][]runConfig{"ci": ciSuite(), "all": fullSuite(20 * time.Second)} {
		removing := 0
		for _, c := range suite {
			if err := c.validate(); err != nil {
				t.Errorf("%s: %s: %v", name, c.name(), err)
			}
			if c.Expect != "" {
				removing++
			}
		}
		if removing < 4 {
			t.Errorf("%s has %d controls, want 4 or more", name, removing)
		}
	}
}
