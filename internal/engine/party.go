package engine

import (
	"context"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/tier"
)

// lead makes the first step of flights that one call began, on their leader's goroutine. With apart it
// makes no step. It returns the party for the other steps, or nil.
//
//go:noinline
func lead(ctx context.Context, runs []run, apart bool) (rest *party) {
	orderly := false
	defer func() {
		if !orderly {
			fallen(ctx, runs, recover())
		}
	}()
	for i := range runs {
		runs[i].begin()
	}
	if runs = live(runs); len(runs) > 0 && runs[0].next == toLook && !apart {
		look(ctx, runs, &runs[0].f.look)
		refreshStale(ctx, runs)
		runs = live(runs)
	}
	if len(runs) > 0 {
		rest = newParty(ctx, runs)
	}
	orderly = true
	return rest
}

// live returns the runs that have not ended, in the same memory.
func live(runs []run) []run {
	n := 0
	for i := range runs {
		if runs[i].next != ended {
			if n != i {
				runs[n] = runs[i]
			}
			n++
		}
	}
	return runs[:n]
}

// newParty returns a party with copies of the runs.
func newParty(ctx context.Context, runs []run) *party {
	p := new(party)
	p.Detach(ctx)
	p.runs = append(p.one[:0], runs...)
	return p
}

// launch starts the party's goroutine. When the tiers are closed it ends the flights and
// reports false.
//
// It is always a new goroutine. A pool of goroutines with grown stacks saves a tenth of a
// miss. But a goroutine that waits for more work keeps the profiler labels of its first
// caller and the synctest bubble that it began in, and looks like a leak to tests.
func (p *party) launch() bool {
	if !p.runs[0].f.j.Core.Work.Begin(&p.Task, &p.Scope) {
		for i := range p.runs {
			p.runs[i].f.end(outcome{err: fault.ErrClosed})
		}
		sendFills(p, p.runs) // gives a claim of the first step back
		return false
	}
	p.arm()
	go p.run()
	return true
}

// grow makes the stack of a new goroutine grow while it holds little, because growing copies it. Few
// loaders need less than 8 KiB: with half of it a stored miss of httpcache took a fifth longer.
//
//go:noinline
func (p *party) grow() byte {
	var room [3500]byte
	return room[len(p.runs)%len(room)]
}

// arm makes the party's context end when no caller waits for any of its flights.
func (p *party) arm() {
	if len(p.runs) == 1 {
		p.runs[0].f.OnAbandon(&p.Scope)
		return
	}
	c := &countdown{scope: &p.Scope}
	c.left.Store(int64(len(p.runs)))
	for i := range p.runs {
		p.runs[i].f.OnAbandon(c)
	}
}

func (p *party) run() {
	p.grow()
	t := p.runs[0].f.j.Core
	defer t.Work.End(&p.Task)
	defer p.Cancel()
	if j := &p.runs[0].f.j; j.Refreshing != nil {
		defer func() {
			if p.parts == nil || p.parts.Add(-1) == 0 {
				returnRefresh(j)
			}
		}()
	}
	orderly := false
	defer func() {
		if !orderly {
			fallen(&p.Scope, p.runs, recover())
		}
	}()
	for p.step() {
	}
	p.one = [1]run{} // for the same reason as late.forget
	orderly = true
}

// step makes the party's next step. It reports false if there is none.
func (p *party) step() bool {
	if p.split(); len(p.runs) == 0 {
		return false
	}
	switch p.runs[0].next {
	case toLook:
		look(&p.Scope, p.runs, new(calls.Deadline))
	case toWait:
		p.wait()
	case toClaim:
		p.claim()
	case toLoad:
		p.load()
	case toFill, ended: // split has dropped the ended runs
		p.fill()
	}
	return true
}

// split ends the runs that no caller waits for. It keeps the runs with the same next step as the
// first one, and moves the others to new parties.
func (p *party) split() {
	before := len(p.runs)
	for i := range p.runs {
		p.runs[i].abandon(&p.Scope)
	}
	refreshStale(&p.Scope, p.runs)
	if p.runs = live(p.runs); len(p.runs) > 1 {
		p.group()
	}
	if len(p.runs) < before && len(p.runs) > 0 {
		p.arm()
	}
}

// group keeps the runs with one next step and forks the others. It is a separate function, so
// that a party of one keeps a small stack.
//
//go:noinline
func (p *party) group() {
	var by [ended][]run
	for _, r := range p.runs {
		by[r.next] = append(by[r.next], r)
	}
	mine := p.runs[0].next
	p.runs = nil
	for next, runs := range by {
		for n := most(state(next), runs); len(runs) > 0; runs = runs[min(n, len(runs)):] {
			some := runs[:min(n, len(runs))]
			if state(next) == mine && p.runs == nil {
				p.runs = some
			} else {
				p.fork(some)
			}
		}
	}
}

// most returns how many of the runs can make the next step together.
func most(next state, runs []run) int {
	switch {
	case next != toLoad:
		return max(len(runs), 1)
	case runs == nil || !runs[0].f.j.Many:
		return 1
	}
	return runs[0].f.j.View.MaxBatch
}

func (p *party) fork(runs []run) {
	q := newParty(&p.Scope, runs)
	if runs[0].f.j.Refreshing != nil {
		if p.parts == nil {
			p.parts = new(atomic.Int64)
			p.parts.Store(1)
		}
		p.parts.Add(1)
		q.parts = p.parts
	}
	q.arm()
	runs[0].f.j.Core.Work.GoOn(&q.Task, &q.Scope)
	go q.run()
}

// fallen ends the flights of a goroutine that ends by a panic or by Goexit. Otherwise their
// callers would wait for ever.
func fallen(ctx context.Context, runs []run, panicked any) {
	if len(runs) == 0 {
		return
	}
	out := outcome{err: fault.ErrGoexit}
	if panicked != nil {
		out = outcome{panicked: runs[0].f.j.Core.Faults.Panicked(panicked)}
	}
	defer func() { // also if the remote tier ends the goroutine again
		for i := range runs {
			if runs[i].next != ended {
				runs[i].f.end(out)
			}
		}
	}()
	for i := range runs {
		runs[i].fill = tier.Fill{}
	}
	sendFills(ctx, runs)
}
