package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/race"

	. "github.com/twofold-go/twofold/internal/explore"
)

// limit stops an exploration of a model that has become too large.
const limit = 1_000_000

// explore runs a model in its own subtest and passes the result to check.
func explore(t *testing.T, name string, m Model, check func(*testing.T, Result)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		r, err := Run(m, limit)
		if err != nil {
			t.Fatal(err)
		}
		check(t, r)
	})
}

func TestProtocolHolds(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes a sequential search ten times as long, and finds nothing")
	}
	for i := range 8 {
		m := Model{Mode: both[i%2], Own: i&2 > 0, Settle: i&4 > 0, Gets: 3}
		explore(t, fmt.Sprintf("%v/own=%v/settle=%v", m.Mode, m.Own, m.Settle), m, func(t *testing.T, r Result) {
			t.Logf("%d states, %d steps deep", r.States, r.Depth)
			if r.Trace != nil {
				t.Errorf("the guarantee is violated:\n%v", r.Trace)
			}
			if r.States < 100_000 {
				t.Errorf("%d states: the model has lost steps", r.States)
			}
			wantSteps(t, m, r)
		})
	}
}

// wantSteps reports the steps of the protocol that the exploration never took.
func wantSteps(t *testing.T, m Model, r Result) {
	steps := []string{
		"the source is written: v2", "B has passed",
		"the fence takes its tick", "the fence is stored", "the position moves",
		"extends the lease, to B after it asked", "gives up waiting for the answer",
		"Get begins: finds an entry; reads the lease", "Get begins: no entry; reads the lease",
		"checks the lease: it holds", "checks the lease: it has lapsed",
		"checks the lease: it has lapsed, but the entry is young",
		"looks at the fences: hit: returns v1", "looks at the fences: the entry is covered",
		"reads the lease again", "goes on without a lease",
		"writes down its mark", "GET: nothing", "GET: somebody's claim", "GET: a frame", "GET is lost on the wire",
		"checks the frame: good", "checks the cell: not to be served",
		"looks again", "claims the cell", "steals the claim", "claims the cell, over the frame",
		"claims the cell; the answer is lost on the wire",
		"writes down its mark and the time", "reads the source: v1",
		"no fence has overtaken the load", "overtaken: begins again", "overtaken: loads again",
		"fill: stored", "fill: refused: returns v1", "gives up waiting for the fill: lost, or late",
		"a late fill arrives: stored", "keeps the value: returns v1", "the cell expires",
	}
	if m.Mode == Key {
		steps = append(steps, "UNLINK of the cell")
	}
	if m.Own {
		steps = append(steps, "the log appends the record and answers")
	} else {
		steps = append(steps, "the log appends the record", "knows that the record is in the log")
	}
	for _, s := range steps {
		if r.Taken[s] == 0 {
			t.Errorf("never taken: %q", s)
		}
	}
}

func TestEveryMutantIsCaught(t *testing.T) {
	each(t, caught, false, func(t *testing.T, w row, r Result) {
		if r.Trace == nil {
			t.Fatalf("nothing shows in %d states that %s", r.States, w.why)
		}
		t.Logf("broken: %s; %d states to the shortest violation:\n%v", w.why, r.States, r.Trace)
	})
}

func TestSecondNet(t *testing.T) {
	for _, own := range []bool{false, true} {
		each(t, secondNet, own, func(t *testing.T, w row, r Result) {
			if r.Trace != nil {
				t.Fatalf("it does not hold that %s:\n%v", w.why, r.Trace)
			}
			t.Logf("%d states, held: %s", r.States, w.why)
		})
	}
}

func each(t *testing.T, rows []row, own bool, check func(*testing.T, row, Result)) {
	for _, w := range rows {
		for _, mode := range w.modes {
			m := Model{Mode: mode, Own: own, Settle: w.settle, Broken: w.broken}
			explore(t, fmt.Sprintf("%v/%v/own=%v", w.broken, mode, own), m, func(t *testing.T, r Result) { check(t, w, r) })
		}
	}
}

// A mutant without a row was never switched on.
func TestEveryMutantHasARow(t *testing.T) {
	var seen Mutant
	for _, w := range slices.Concat(caught, secondNet) {
		seen |= w.broken
	}
	if seen != AllMutants {
		t.Errorf("no row breaks %v", AllMutants&^seen)
	}
}

func TestRunGivesUp(t *testing.T) {
	if _, err := Run(Model{}, 1000); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Run with a limit of 1000 states: error %v, want %v", err, ErrTooLarge)
	}
}

func TestMutantNames(t *testing.T) {
	if got, want := (LogFirst | NoFrameCheck).String(), "LogFirst+NoFrameCheck"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
