package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/bench/workload"
	"github.com/twofold-go/twofold/internal/testkit/race"
)

// The program starts itself for each process of the stampede. Its test does the same.
func TestMain(m *testing.M) {
	setup.Child("bench", workload.WorkerEnv, workload.Worker)
	os.Exit(m.Run())
}

// TestWholeSuite runs everything in its smallest form. It does not judge speed, but fails if a
// contender answers wrongly or a table has a hole.
func TestWholeSuite(t *testing.T) {
	out := filepath.Join(t.TempDir(), "R.md")
	err := run(t.Context(), []string{"-suite", "tiny", "-samples", "1", "-out", out}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, out)
	for _, want := range []string{"## Asked and reached", "jetcache", "Left out"} {
		if !strings.Contains(text, want) {
			t.Errorf("the results have no %q", want)
		}
	}
	for _, w := range workload.All() {
		if !strings.Contains(text, "\n## "+w.ID+": "+w.Title) {
			t.Errorf("no results of workload %s", w.ID)
		}
	}
	if strings.Contains(text, "not measured") {
		t.Errorf("a goal was not measured:\n%s", text)
	}
	checkMust(t, text)
}

// checkMust checks the goals that do not depend on the machine.
func checkMust(t *testing.T, text string) {
	t.Helper()
	for _, what := range []string{
		"remote hit: commands", "remote hit: scripts", "stampede of 1,000 goroutines: loads", "stampede of 4 processes × 32: loads",
		"a cold page in 4 processes × 32: renderings", "local hit, call-site closure: allocations",
	} {
		if race.Enabled && strings.HasSuffix(what, "allocations") {
			continue // the race detector makes sync.Pool allocate
		}
		met := false
		for line := range strings.Lines(text) {
			met = met || strings.HasPrefix(line, "| "+what) && strings.Contains(line, "| yes |")
		}
		if !met {
			t.Errorf("not reached: %s", what)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{
		{"-suite", "some"}, {"-only", "Z"}, {"-samples", "-1"}, {"surplus"}, {"-nonsense"},
	} {
		if o, err := parse(args, io.Discard); err == nil {
			t.Errorf("parse(%q) = %+v, want an error", args, o)
		}
	}
}

func TestFlags(t *testing.T) {
	o, err := parse([]string{"-suite", "quick", "-only", "d, a", "-samples", "3"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if len(o.workloads) != 2 || o.workloads[0].ID != "D" || o.workloads[1].ID != "A" || o.samples != 3 || o.size != workload.Quick {
		t.Errorf("parse = %+v, want D and A, 3 samples, quick", o)
	}
	if o, err = parse(nil, io.Discard); err != nil || o.samples != 6 || len(o.workloads) != len(workload.All()) {
		t.Errorf("parse of nothing = %+v, %v, want everything by 6 samples", o, err)
	}
}
