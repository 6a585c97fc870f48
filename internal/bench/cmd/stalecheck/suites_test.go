package main

import (
	"slices"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/bench/cmd/stalecheck/rig"
)

// A fault or a safeguard without a run would be forgotten silently.
func TestFullSuiteHasAll(t *testing.T) {
	all, err := suite("all", 20*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range rig.Faults() {
		if !slices.ContainsFunc(all, func(c runConfig) bool { return c.Fault == fault && c.Without == "" }) {
			t.Errorf("no run has the fault %s", fault)
		}
	}
	for _, g := range guards {
		if !slices.ContainsFunc(all, func(c runConfig) bool { return c.Expect != "" && c.Lacks(g) }) {
			t.Errorf("no control removes %s", g)
		}
	}
}

func TestSuites(t *testing.T) {
	if !controls {
		t.Skip("needs -tags twofold_controls")
	}
	for _, name := range []string{"ci", "all", "db"} {
		removing := 0
		runs, err := suite(name, 20*time.Second)
		if err != nil {
			t.Error(err)
		}
		for _, c := range runs {
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
	if _, err := suite("some", time.Second); err == nil {
		t.Error("suite(some) = nil, want an error")
	}
}
