package localnode

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Tick is a time in units of 2^26 nanoseconds, about 67 ms. The zero Tick is never.
type Tick uint32

const tickShift = 26

// endTick returns the first tick at or after an end. An end that is 9 years away is never.
func endTick(ns int64) Tick {
	if ns <= 0 {
		return 1
	}
	if t := (ns-1)>>tickShift + 1; t < math.MaxUint32 {
		return Tick(t)
	}
	return 0
}

// rank orders ticks: never comes last.
func (t Tick) rank() uint32 { return uint32(t) - 1 }

// ends are what a table knows of its nodes' ends, and where its search for nodes past them is. The
// ends themselves are in the cells, so a search touches no node. A timer wheel would find the nodes
// without a search, but takes 16 bytes in each node.
type ends struct {
	count   int    // nodes that have an end
	soonest uint32 // no node's end has a lower rank
	coming  uint32 // of the nodes that this round of the search has passed, and of those that entered
	at      int    // the next cell of the search
	left    int    // cells left in this round
	asked   int    // the next cell of Ask
}

func (x *ends) reset() { *x = ends{soonest: math.MaxUint32, coming: math.MaxUint32} }

// restart begins the search from the first cell, because nodes have changed their cells.
func (x *ends) restart() { x.at, x.left, x.asked, x.coming = 0, 0, 0, min(x.coming, x.soonest) }

func (x *ends) add(end Tick) {
	x.count++
	x.soonest, x.coming = min(x.soonest, end.rank()), min(x.coming, end.rank())
}

// setEnd notes the end of the node in a cell. The node has none if end is zero.
func (t *Table) setEnd(c *cell, end Tick) {
	if c.end != 0 {
		t.ends.count--
	}
	if c.end = end; end != 0 {
		t.ends.add(end)
	}
}

// Ending returns the number of nodes that have an end. Only writers may call it.
func (t *Table) Ending() int { return t.ends.count }

// Sweep searches the next cells for nodes whose end is not after now, and calls f with each. F
// removes the node, or returns another end of it. The search stops when f returns false. It takes
// no time if no end can be due. Only writers may call it.
func (t *Table) Sweep(now Tick, cells int, f func(n *Node) (end Tick, more bool)) {
	b := t.block.Load()
	for x := &t.ends; cells > 0 && x.count > 0 && x.soonest < uint32(now); cells-- {
		if x.left == 0 {
			x.left, x.soonest, x.coming = len(b.cells), x.coming, math.MaxUint32
			if x.soonest >= uint32(now) {
				x.left, x.coming = 0, x.soonest
				return
			}
		}
		c := &b.cells[x.at]
		x.at, x.left = b.next(x.at), x.left-1
		if r := c.end.rank(); r >= uint32(now) {
			x.coming = min(x.coming, r)
		} else if !t.ask(c, f) {
			return
		}
	}
}

// Ask calls f with the next nodes that have an end, due or not, as Sweep does.
func (t *Table) Ask(cells int, f func(n *Node) (end Tick, more bool)) {
	b := t.block.Load()
	for ; cells > 0 && t.ends.count > 0; cells-- {
		c := &b.cells[t.ends.asked]
		t.ends.asked = b.next(t.ends.asked)
		if c.end != 0 && !t.ask(c, f) {
			return
		}
	}
}

func (t *Table) ask(c *cell, f func(n *Node) (Tick, bool)) (more bool) {
	n := c.node.Load()
	end, more := f(n)
	if c.node.Load() == n {
		t.setEnd(c, end)
	}
	return more
}

const (
	// SweepCells is how many cells a Set searches for nodes to remove before it evicts others.
	// With 64, a Set evicted live entries while others were past their end.
	SweepCells = 256

	// MaxExpired bounds how many nodes one such search removes.
	MaxExpired = 32

	// sweepEvery is the time between two searches of a whole tier, and askRounds the number of
	// them that ask all nodes for their ends again. Therefore a sweep finds an end that has become
	// earlier within a minute.
	sweepEvery = 15 * time.Second
	askRounds  = 4
)

// Ends removes the entries of a tier that have ended. It knows the clock and the entries' ends, and sweeps the
// tier from time to time while it holds an entry that has an end. The zero value knows no ends.
type Ends struct {
	now   func() int64
	of    func(any) int64
	sweep func() (more bool)

	armed atomic.Bool // a sweep is to come; written with mu held

	mu      sync.Mutex // protects what follows
	timer   *time.Timer
	running bool
	closed  bool
	runs    sync.WaitGroup
}

// Start notes the clock and the ends, before first use. Sweep searches the whole tier, and reports
// whether it still holds an entry that has an end.
func (x *Ends) Start(now func() int64, of func(any) int64, sweep func() (more bool)) {
	x.now, x.of, x.sweep = now, of, sweep
}

// Known reports whether entries have ends at all.
func (x *Ends) Known() bool { return x.of != nil }

// Now returns the last tick that has passed.
func (x *Ends) Now() Tick { return Tick(uint64(max(x.now(), 0)) >> tickShift) } //nolint:gosec // 9 years

// Of returns the end of an entry.
func (x *Ends) Of(e any) Tick {
	if x.of == nil {
		return 0
	}
	return endTick(x.of(e))
}

// Entered makes sure that a sweep comes after an entry with that end has entered the tier.
func (x *Ends) Entered(end Tick) {
	if end != 0 && !x.armed.Load() {
		x.arm()
	}
}

func (x *Ends) arm() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.armed.CompareAndSwap(false, true) {
		x.armLocked()
	}
}

// armLocked leaves the timer to a sweep that runs: the caller must not wait for it.
func (x *Ends) armLocked() {
	if !x.closed && !x.running {
		x.timer = time.AfterFunc(sweepEvery, x.run)
	}
}

// run is one sweep.
func (x *Ends) run() {
	if !x.begin() {
		return
	}
	defer x.runs.Done()
	more := x.sweep()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.running = false
	if more {
		x.armed.Store(true)
	}
	if x.armed.Load() {
		x.armLocked()
	}
}

// begin notes that no sweep is to come before run looks whether one is needed. That look sees an
// entry that enters meanwhile, or the entry notes that a sweep is to come.
func (x *Ends) begin() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return false
	}
	x.running = true
	x.runs.Add(1)
	x.armed.Store(false)
	return true
}

// Close ends the sweeps. It waits for one that runs.
func (x *Ends) Close() {
	x.mu.Lock()
	if x.closed = true; x.timer != nil {
		x.timer.Stop()
	}
	x.mu.Unlock()
	x.runs.Wait()
}

// SweepAll is a sweep of a whole table. It locks mu for a part of the table at a time, and calls
// then after each part, without the lock. It reports whether nodes with ends are left.
func (t *Table) SweepAll(mu *sync.Mutex, now Tick, f func(n *Node) (end Tick, more bool), then func()) (more bool) {
	cells := t.Cells()
	part := func(search func()) {
		defer then()
		mu.Lock()
		defer mu.Unlock()
		search()
		more = t.ends.count > 0
	}
	part(func() {})
	for at := 0; more && at < cells; at += SweepCells {
		part(func() { t.Sweep(now, SweepCells, f) })
	}
	for at := 0; more && at*askRounds < cells; at += SweepCells {
		part(func() { t.Ask(SweepCells, f) })
	}
	return more
}
