package explore

import "cmp"

// Mode is what the invalidation names.
type Mode uint8

const (
	// Key names the key itself: its cell is removed, and the record goes to the key sequence.
	Key Mode = iota
	// Scope names a tag of the value: no cell is removed, and the record goes to the scope
	// sequence. A prefix differs only in that a flight knows it before its load, which is the
	// easier case.
	Scope
	// Soft names a tag, as Scope does, but expires it instead of invalidating it: it ends the
	// freshness of the value, not its life.
	Soft
)

func (m Mode) String() string { return [...]string{"key", "scope", "soft"}[m] }

// Shape is the placement of the two callers.
type Shape uint8

const (
	// Apart has one caller in each process.
	Apart Shape = iota
	// SharedP has both callers in the process that invalidates, so that one may join the other's
	// flight.
	SharedP
	// SharedQ has both callers in the other process.
	SharedQ
)

func (s Shape) String() string { return [...]string{"apart", "both in P", "both in Q"}[s] }

// Model is the model to explore. The zero Model is the correct protocol in key mode, with one
// caller in each process.
type Model struct {
	Mode   Mode
	Shape  Shape
	Loss   Loss     // what the server forgets
	Nested bool     // a load may build its value from another cached value; not in mode Key, since built values inherit tags
	Twice  bool     // the invalidated tag expires as well, by the same record
	Outbox bool     // the log is a table of the source's database; not Soft, Nested or Strict
	Strict bool     // the invalidation waits for B before it returns
	Broken Mutant   // the rules broken on purpose
	Reads  [2]uint8 // Gets that each caller makes, one after another; zero: two each
	Full   bool     // explore without the reductions; for small models
}

// home returns the process of a caller.
func (m *Model) home(caller int) int {
	switch m.Shape {
	case SharedP:
		return p
	case SharedQ:
		return q
	default:
		return caller
	}
}

func (m *Model) is(broken Mutant) bool { return m.Broken&broken != 0 }

// start returns the initial state: every tier holds the old version, loaded less than B ago, and
// the leases hold. A state with an empty tier or a lapsed lease is one step away.
func (m *Model) start() state {
	s := state{version: oldVersion, cell: cell{kind: filled, version: oldVersion, nonce: 1}}
	for i := range s.gets {
		s.gets[i].left = cmp.Or(m.Reads, [2]uint8{2, 2})[i]
	}
	for i := range s.procs {
		s.procs[i] = process{lease: early, local: entry{version: oldVersion, loaded: early}}
	}
	switch m.Loss {
	case LosesOther, LosesShared:
		s.cell.pos = first // Q has filled it
		for i := range s.procs {
			if i == q || m.Loss == LosesShared {
				s.procs[i].at, s.procs[i].cursor = first, foreign
			}
		}
	case LosesAll:
		s.cell.pos = surviving
		s.procs = [2]process{}
	default:
	}
	s.box.other = m.Outbox
	m.reduce(&s)
	return s
}

// edge is a step from one state to another.
type edge struct {
	who, what string
	to        state
}

// steps collects what can happen next in one state.
type steps struct {
	*Model
	from *state
	out  []edge
}

// add records a step.
func (t *steps) add(who, what string, to *state) {
	t.reduce(to)
	t.out = append(t.out, edge{who, what, *to})
}

// next appends everything that can happen in s to out.
func (m *Model) next(s *state, out []edge) []edge {
	t := steps{Model: m, from: s, out: out}
	if i, ok := m.private(s); ok && !m.Full {
		t.caller(i)
		return t.out
	}
	t.invalidator()
	t.time()
	t.server()
	for i := range s.procs {
		t.applier(i)
		t.asker(i)
	}
	for i := range s.gets {
		t.caller(i)
		t.arrival(i)
	}
	return t.out
}

// covers reports whether a fence that the process has stored covers the entry. Ticks alone decide:
// the frame behind an entry was compared with all fences stored by then, and the entry's mark is
// older than that.
func (m *Model) covers(r *process, e entry) bool {
	return r.fence >= stored && e.born == 0
}

// expires reports whether values covered by a fence of the process are only expired. An
// invalidation wins, and so does a hole in the log, because it may hide an invalidation.
func (m *Model) expires(r *process) bool {
	return m.Mode == Soft && !r.gap || m.Twice && m.is(SoftWins)
}

// locked reports whether the fence tables are being written. The fence takes its tick and is stored
// under one lock, and every look at the tables waits for it.
func (u *turn) locked() bool { return u.r.fence == ticked && !u.is(TickUnlocked|CursorFirst) }

// hitWaits reports whether a hit waits for that lock. It does, because it notices the fence before
// the fence takes its tick. So an entry that a hit finds clear is never older than a mark that
// counts the fence.
func (u *turn) hitWaits() bool { return u.locked() && !u.is(SeenLast|NoteUnlocked) }

// refuses reports whether a frame as of pos is of another epoch than the process's own, or older
// than a fence that the process has stored. A hole among key records does not affect frames: their
// cells were removed before.
func (m *Model) refuses(r *process, pos uint8) bool {
	if epoch(pos) != epoch(r.at) && !m.is(NoEpochID) {
		return true
	}
	floor := r.fenceAt
	if r.fence < stored || r.gap && m.Mode == Key {
		floor = epoch(r.at) * bump
	}
	return pos < floor && !m.is(NoFrameCheck)
}

// mark returns what a process knows now: the tick and the applied position.
func (m *Model) mark(r *process) entry {
	e := entry{asOf: r.at}
	if r.fence >= stored || (r.fence == ticked && !m.is(CursorFirst)) {
		e.born = 1
	}
	return e
}
