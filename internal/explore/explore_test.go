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
	models := []Model{{}, {Strict: true}}
	if !race.Enabled && !testing.Short() {
		models = append(models, flightInP, flightInQ) // a flight does not depend on Strict
	}
	for _, m := range models {
		for _, mode := range both {
			m := m
			m.Mode = mode
			explore(t, fmt.Sprintf("%v/%v/strict=%v", m.Mode, m.Shape, m.Strict), m, func(t *testing.T, r Result) {
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
	if m.Shape != Apart {
		steps = append(steps, "leads a flight", "joins the flight", "the flight has ended; reads the lease")
	}
	for _, s := range steps {
		if r.Taken[s] == 0 {
			t.Errorf("never taken: %q", s)
		}
	}
}

// The protocol notices what the server forgets before it matters.
func TestProtocolSurvivesLosses(t *testing.T) {
	steps := map[Loss][]string{
		LosesRecord: {
			"the log is replaced by a prefix of itself: the record is lost",
			"the log starts an epoch and answers", "applies the bump: a new epoch", "the fence is stored",
		},
		LosesOther: {"the log starts an epoch and answers", "applies the bump: a new epoch", "the fence is stored"},
		LosesAll:   {"judges what it got: not to be served", "claims the cell, over the frame", "the fence is stored"},
	}
	steps[LosesShared] = steps[LosesOther]
	for loss, want := range steps {
		for _, mode := range both {
			for _, strict := range []bool{false, true} {
				m := Model{Loss: loss, Mode: mode, Strict: strict, Reads: oneEach}
				explore(t, fmt.Sprintf("loses %v/%v/strict=%v", loss, mode, strict), m, func(t *testing.T, r Result) {
					t.Logf("%d states, %d steps deep", r.States, r.Depth)
					if r.Trace != nil {
						t.Errorf("the guarantee is violated:\n%v", r.Trace)
					}
					for _, s := range want {
						if r.Taken[s] == 0 {
							t.Errorf("never taken: %q", s)
						}
					}
				})
			}
		}
	}
}

// A value built from cached values keeps the guarantee, at any depth.
func TestNestedLoadsHold(t *testing.T) {
	inP := Model{Nested: true, Shape: SharedP, Reads: oneEach}
	inQ := Model{Nested: true, Shape: SharedQ, Reads: oneEach}
	tower := Model{Nested: true, Shape: SharedQ, Reads: [2]uint8{3, 0}}
	for _, m := range []Model{inP, inQ, tower, nestedStrict} {
		m.Mode = Scope
		explore(t, fmt.Sprintf("%v/%v/strict=%v", m.Shape, m.Reads, m.Strict), m, func(t *testing.T, r Result) {
			t.Logf("%d states, %d steps deep", r.States, r.Depth)
			if r.Trace != nil {
				t.Errorf("the guarantee is violated:\n%v", r.Trace)
			}
			for _, s := range []string{
				"loads from a part: finds its entry; reads the lease",
				"judges the part: the lease holds", "judges the part: the lease has lapsed, but it is young",
				"judges the part: the lease has lapsed", "looks at the part's fences: it is covered",
				"looks at the part's fences: builds v1 from it",
			} {
				if r.Taken[s] == 0 {
					t.Errorf("never taken: %q", s)
				}
			}
		})
	}
}

// An expired value is not served as fresh, and everything else is as without expiry.
func TestExpiryHolds(t *testing.T) {
	models := []Model{{Reads: oneEach}, twice}
	if !race.Enabled && !testing.Short() {
		models = append(models, Model{}, softNested, Model{Nested: true, Shape: SharedQ, Reads: oneEach}, flightInP, flightInQ)
	}
	for _, m := range models {
		if m.Mode = Soft; m.Twice {
			m.Mode = Scope
		}
		explore(t, fmt.Sprintf("%v/%v/%v/nested=%v", m.Mode, m.Shape, m.Reads, m.Nested), m, func(t *testing.T, r Result) {
			t.Logf("%d states, %d steps deep", r.States, r.Depth)
			if r.Trace != nil {
				t.Errorf("the guarantee is violated:\n%v", r.Trace)
			}
			steps := []string{
				"looks at the fences: it has expired: returns v1, as stale",
				"looks at the fences: it has expired", "judges the frame: it has expired",
				"keeps the value: returns v1, as stale",
			}
			switch {
			case m.Twice:
				steps = nil
			case m.Nested:
				steps = append(steps, "looks at the part's fences: it has expired; builds v1 from it")
			default:
				steps = append(steps, "finds a hole in place of the record: gives up all that is older")
			}
			for _, s := range steps {
				if r.Taken[s] == 0 {
					t.Errorf("never taken: %q", s)
				}
			}
		})
	}
}

func TestEveryMutantIsCaught(t *testing.T) {
	each(t, slices.Concat(caught, caughtSoft, caughtOutbox), func(t *testing.T, w row, r Result) {
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
			explore(t, w.name(mode), m, func(t *testing.T, r Result) { check(t, w, r) })
		}
	}
}

// A log in the source's own database keeps the guarantee, even if a process dies between two steps.
func TestOutboxHolds(t *testing.T) {
	models := []Model{outbox, outboxCopied}
	if !race.Enabled && !testing.Short() {
		models[0].Reads = oneEach
	}
	for _, m := range models {
		for _, mode := range both {
			m := m
			m.Mode = mode
			explore(t, fmt.Sprintf("%v/loses %v", m.Mode, m.Loss), m, func(t *testing.T, r Result) {
				t.Logf("%d states, %d steps deep", r.States, r.Depth)
				if r.Trace != nil {
					t.Errorf("the guarantee is violated:\n%v", r.Trace)
				}
				wantOutbox(t, m, r)
			})
		}
	}
}

func wantOutbox(t *testing.T, m Model, r Result) {
	steps := []string{
		"COMMIT with a row in the outbox: v2; B counts from here", "stages rows without a number", "numbers the rows",
		"numbers the rows: the record is in the log", "the log answers", "gives up waiting for the answer",
	}
	if m.Mode == Key {
		steps = append(steps, "UNLINK of the cell that a row names", "finds a hole in place of the record: gives up all that is older")
	}
	if m.Loss == LosesRow {
		steps = append(steps, "the server is replaced by an older copy: the other row is lost",
			"may not number the rows: it staged them on another server", "the log starts an epoch and answers")
	}
	for _, s := range steps {
		if r.Taken[s] == 0 {
			t.Errorf("never taken: %q", s)
		}
	}
}

// A mutant without a row was never switched on.
func TestEveryMutantHasARow(t *testing.T) {
	var seen Mutant
	for _, w := range slices.Concat(caught, caughtSoft, caughtOutbox, secondNet) {
		seen |= w.broken
	}
	if seen != AllMutants {
		t.Errorf("no row breaks %v", AllMutants&^seen)
	}
}

// The reductions leave out states, not violations. With a single caller, and the invalidation in
// the other process, there are few enough states for a run without reductions.
func TestReductionsChangeNothing(t *testing.T) {
	tooSlow(t)
	whole := []row{{modes: both}, {modes: key, model: losesRecord}, {modes: both, model: losesOther}, {modes: both, model: losesShared}, {modes: both, model: losesAll}, {modes: scope, model: nested}, {modes: soft}, {modes: scope, model: outbox}}
	for _, w := range slices.Concat(whole, caught, caughtSoft, caughtOutbox) {
		if (w.model.Shape != Apart && !w.model.Nested) || w.broken&(NoAheadCheck|NumberFirst|RemoveInside) != 0 {
			continue // takes two callers, or shows in P alone, or has too many states
		}
		for _, mode := range w.modes {
			m := w.model
			m.Mode, m.Broken, m.Shape, m.Reads, m.Full = mode, w.broken, SharedQ, [2]uint8{2, 0}, true
			if m.Loss != LosesNothing || m.Broken == 0 && (m.Nested || m.Outbox || m.Mode == Soft) {
				m.Reads[0] = 1 // two are too many
			}
			explore(t, w.name(mode), m, func(t *testing.T, full Result) {
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
