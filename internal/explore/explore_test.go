package explore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/twofold-go/twofold/internal/race"

	. "github.com/twofold-go/twofold/internal/explore"
)

// limit stops an exploration that the reductions no longer keep small.
const limit = 4_000_000

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

// tooSlow skips a test under the race detector. It would make a sequential search ten times as long
// and find nothing.
func tooSlow(t *testing.T) {
	if race.Enabled || testing.Short() {
		t.Skip("explored in full without -race and -short")
	}
}

func TestProtocolHolds(t *testing.T) {
	for _, m := range []Model{{}, strict} {
		for _, mode := range both {
			m.Mode = mode
			explore(t, fmt.Sprintf("%v/strict=%v", m.Mode, m.Strict), m, func(t *testing.T, r Result) {
				t.Logf("%d states, %d steps deep", r.States, r.Depth)
				if r.Trace != nil {
					t.Errorf("the guarantee is violated:\n%v", r.Trace)
				}
				if r.States < 150_000 {
					t.Errorf("%d states: the model has lost steps", r.States)
				}
				wantSteps(t, m, r)
			})
		}
	}
}

// wantSteps reports the steps of the protocol that the exploration never took. The list omits steps
// that a reduction may leave out.
func wantSteps(t *testing.T, m Model, r Result) {
	steps := []string{
		"the source is written: v2", "the log appends the record and answers", "B has passed",
		"the fence takes its tick", "the fence is stored", "the position moves",
		"extends the lease, to B after it asked", "gives up waiting for the answer",
		"Get begins: finds an entry; reads the lease", "Get begins: no entry; reads the lease",
		"judges the lease: it holds", "judges the lease: it has lapsed",
		"judges the lease: it has lapsed, but the entry is young",
		"looks at the fences: hit: returns v1", "looks at the fences: the entry is covered",
		"reads the lease again", "goes on without a lease",
		"writes down its mark", "GET: nothing", "GET: somebody's claim", "GET: a frame", "GET is lost on the wire",
		"judges the frame: good", "judges what it got: not to be served",
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
	for _, s := range steps {
		if r.Taken[s] == 0 {
			t.Errorf("never taken: %q", s)
		}
	}
}

func TestEveryMutantIsCaught(t *testing.T) {
	each(t, caught, func(t *testing.T, w row, r Result) {
		if r.Trace == nil {
			t.Fatalf("nothing shows in %d states that %s", r.States, w.why)
		}
		t.Logf("broken: %s; %d states to the shortest violation:\n%v", w.why, r.States, r.Trace)
	})
}

func TestSecondNet(t *testing.T) {
	tooSlow(t)
	each(t, secondNet, func(t *testing.T, w row, r Result) {
		if r.Trace != nil {
			t.Fatalf("it does not hold that %s:\n%v", w.why, r.Trace)
		}
		t.Logf("%d states, held: %s", r.States, w.why)
	})
}

func each(t *testing.T, rows []row, check func(*testing.T, row, Result)) {
	for _, w := range rows {
		for _, mode := range w.modes {
			m := w.model
			m.Mode, m.Broken = mode, w.broken
			explore(t, fmt.Sprintf("%v/%v", w.broken, mode), m, func(t *testing.T, r Result) { check(t, w, r) })
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

// The reductions leave out states, not violations. With the only caller in Q there are few enough
// states for a run without reductions.
func TestReductionsChangeNothing(t *testing.T) {
	tooSlow(t)
	for _, w := range slices.Concat([]row{{modes: both}}, caught) {
		for _, mode := range w.modes {
			m := w.model
			m.Mode, m.Broken, m.Reads, m.Full = mode, w.broken, [2]uint8{0, 2}, true
			explore(t, fmt.Sprintf("%v/%v", w.broken, mode), m, func(t *testing.T, full Result) {
				m.Full = false
				reduced, err := Run(m, limit)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("%d states, reduced to %d", full.States, reduced.States)
				if (full.Trace == nil) != (reduced.Trace == nil) {
					t.Errorf("in full:\n%v\nreduced:\n%v", full.Trace, reduced.Trace)
				}
			})
		}
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
