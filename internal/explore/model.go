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
)

func (m Mode) String() string { return [...]string{"key", "scope"}[m] }

// Model is the model to explore. The zero Model is the correct protocol in key mode, with the caller
// in Q.
type Model struct {
	Mode   Mode
	Own    bool   // the caller is in P, the process that invalidates
	Settle bool   // Settle follows the invalidation, and waits for B
	Broken Mutant // the rules broken on purpose
	Gets   uint8  // Gets that the caller makes, one after another; zero: two
}

func (m *Model) is(broken Mutant) bool { return m.Broken&broken != 0 }

// start returns the initial state: every tier holds the old version, loaded less than B ago, and
// the lease holds. A state with an empty tier or a lapsed lease is one step away.
func (m *Model) start() state {
	return state{
		version: oldVersion, cell: cell{kind: filled, version: oldVersion, nonce: 1},
		proc: process{lease: early, local: entry{version: oldVersion, loaded: early}},
		get:  get{left: cmp.Or(m.Gets, 2)},
	}
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
	to.canonical()
	t.out = append(t.out, edge{who, what, *to})
}

// next appends everything that can happen in s to out. After the last Get nothing can go wrong.
func (m *Model) next(s *state, out []edge) []edge {
	t := steps{Model: m, from: s, out: out}
	if s.get.left == 0 && s.get.stage == getIdle {
		return out
	}
	t.invalidator()
	t.time()
	t.append()
	t.applier()
	t.asker()
	t.caller()
	t.arrival()
	return t.out
}

// covers reports whether a fence that the process has stored covers the entry. Only ticks decide:
// the frame behind an entry was compared with all fences stored by then, and the entry's mark is
// older than that.
func (m *Model) covers(r *process, e entry) bool {
	return r.fence >= stored && e.born == 0
}

// locked reports whether the fence tables are being written. The fence takes its tick and is stored
// under one lock, and every look at the tables waits for it.
func (u *turn) locked() bool { return u.r.fence == ticked && !u.is(TickUnlocked|CursorFirst) }

// hitWaits reports whether a hit waits for that lock. It does, because it notices the fence before
// the fence takes its tick. Therefore an entry that a hit finds clear is never older than a mark that
// counts the fence.
func (u *turn) hitWaits() bool { return u.locked() && !u.is(NoteUnlocked) }

// refuses reports whether a frame as of pos is older than a fence that the process has stored.
func (m *Model) refuses(r *process, pos uint8) bool {
	return r.fence >= stored && pos < recordAt && !m.is(NoFrameCheck)
}

// mark returns what a process knows now: the tick and the applied position.
func (m *Model) mark(r *process) entry {
	e := entry{asOf: r.at}
	if r.fence >= stored || (r.fence == ticked && !m.is(CursorFirst)) {
		e.born = 1
	}
	return e
}
