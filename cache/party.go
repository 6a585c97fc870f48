package cache

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/tier"
)

// How a key is fetched or loaded. A run is the working state of one flight. Its leader
// makes the first step itself, under its own context, because that is nearly always the
// end of it and costs no goroutine. What takes longer goes on in a party: a goroutine with
// a context of its own and the runs that take the same way, one round trip per step. A Get
// begins a party of one, a GetMany a party of many. Nobody but the party's goroutine sees
// a run.
//
//	LOOK ──► judge ─┬─► END    there is a value, here or in the remote tier
//	  ▲             ├─► WAIT   another process loads ──► LOOK
//	  │             ├─► CLAIM ─┬─ granted ──────────────────────────► LOAD
//	  │             │          ├─ refused, with a frame ──► judge it
//	  │             │          └─ refused without ──► WAIT, or CLAIM by force
//	  │             └─► LOAD   without a claim: no remote tier, or it was cut off; Off; a
//	  │                        hold; or another's load was waited for, and stored nothing
//	  │             LOAD ──► settle ──► FILL ─┬─► END
//	  └───────────────────────────────────────┘  overtaken by an invalidation, and wanted
//
//	what happens         who ends the flight, and with what    what the party does then
//	an answer            the party, once it is stored          nothing
//	LoadTimeout          the load's timer: an old value, or    when the loader returns: stores
//	                     ErrLoadTimeout (see late)             its value, or gives the claim back
//	the last caller left nobody waits                          gives the claim back
//	a panic, a Goexit    the party, by fallen                  gives all claims back
//	Close                the party, with Canceled              gives the claim back
//	a claim was lost     the party, with the value             keeps it nowhere
//
// Runs that differ after a step go on in parties of their own, so keys of Load run side by
// side, and keys of LoadMany in parties of at most MaxBatch.

// state is what a run does next.
type state uint8

const (
	toLook state = iota
	toWait
	toClaim
	toLoad
	toFill
	ended
	states
)

// maxReloads is how often a load overtaken by an invalidation is repeated.
const maxReloads = 2

// maxRefusals is how many claims over frames that nobody holds may be refused
// before a run goes on without the remote tier: what it is shown is not what is there.
const maxRefusals = 8

// run is the working state of a flight. It is copied from party to party, so it has no
// lock.
type run[K comparable, V any] struct {
	f     *flight[K, V]
	next  state
	frame frame[K, V] // what the remote tier has shown
	spare *item[K, V] // its value, which was not fit to be served as it was
	claim tier.Claim

	claimed bool // the claim stands
	force   bool // the next claim is to take the value's place
	cut     bool // the remote tier failed; this run does without it
	held    bool // the remote tier says not to cache the key now

	since    int64 // when it first looked
	nap      time.Duration
	refusals int
	tries    int // loads so far
	waits    waits

	fill  tier.Fill          // what the claim is to be filled with; no Cell gives it back
	keep  *item[K, V]        // what is put in the local tier, unless the claim was lost
	size  int64              // of its value, or sizeUnknown
	out   outcome[K, V]      // what the flight ends with; see finish
	again bool               // the load was overtaken, and is repeated
	span  *trace.SpanContext // of the last load
}

// party is one goroutine's runs.
type party[K comparable, V any] struct {
	scope.Scope // the context of its work
	runs        []run[K, V]

	one   [1]run[K, V] // the runs of a party of one
	first load         // the first load, and its hook: most parties have no other
	late  late[K, V]
}

// lead makes the first step of the flight on its leader's goroutine.
func (a *ask[K, V]) lead(ctx context.Context, f *flight[K, V]) {
	one := [1]run[K, V]{{f: f}}
	lead(ctx, one[:], a.spared())
}

// lead makes the first step of flights that were begun by one call. With apart it makes
// none: the caller has something to serve when its SoftTimeout is over.
//
//go:noinline
func lead[K comparable, V any](ctx context.Context, runs []run[K, V], apart bool) {
	orderly := false
	defer func() {
		if !orderly {
			fallen(ctx, runs, recover())
		}
	}()
	for i := range runs {
		runs[i].begin(ctx)
	}
	if runs = live(runs); len(runs) > 0 && runs[0].next == toLook && !apart {
		look(ctx, runs, &runs[0].f.look)
		runs = live(runs)
	}
	if len(runs) > 0 {
		newParty(ctx, runs).launch(ctx)
	}
	orderly = true
}

// live returns the runs that have not ended, in the same memory.
func live[K comparable, V any](runs []run[K, V]) []run[K, V] {
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

// newParty returns a party of the runs, which it copies.
func newParty[K comparable, V any](ctx context.Context, runs []run[K, V]) *party[K, V] {
	p := new(party[K, V])
	p.Detach(ctx)
	p.runs = append(p.one[:0], runs...)
	return p
}

// launch starts the party's goroutine. When the tiers are closed it ends the flights and
// reports false.
func (p *party[K, V]) launch(ctx context.Context) bool {
	if !p.runs[0].f.t.work.Begin(&p.Task, &p.Scope) {
		for i := range p.runs {
			p.runs[i].f.end(ctx, outcome[K, V]{err: ErrClosed})
		}
		return false
	}
	p.arm()
	go p.run()
	return true
}

// arm makes the party's context end when the last caller has left that waits for one of
// its flights.
func (p *party[K, V]) arm() {
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

// countdown cancels a scope when it was cancelled as often as is left.
type countdown struct {
	left  atomic.Int64
	scope *scope.Scope
}

// Cancel counts down.
func (c *countdown) Cancel() {
	if c.left.Add(-1) == 0 {
		c.scope.Cancel()
	}
}

func (p *party[K, V]) run() {
	t := p.runs[0].f.t
	defer t.work.End(&p.Task)
	defer p.Cancel()
	if p.runs[0].f.refreshing != nil {
		defer t.refresh.Release(1)
	}
	orderly := false
	defer func() {
		if !orderly {
			fallen(&p.Scope, p.runs, recover())
		}
	}()
	for p.step() {
	}
	orderly = true
}

// step makes the party's next step. It reports false when there is none.
func (p *party[K, V]) step() bool {
	if p.split(); len(p.runs) == 0 {
		return false
	}
	switch p.runs[0].next {
	case toLook:
		look(&p.Scope, p.runs, new(scope.Deadline))
	case toWait:
		p.wait()
	case toClaim:
		p.claim()
	case toLoad:
		p.load()
	case toFill:
		p.fill()
	}
	return true
}

// split ends what nobody waits for, keeps the runs that go on as the first one does, and
// gives the others to parties of their own.
func (p *party[K, V]) split() {
	before := len(p.runs)
	for i := range p.runs {
		p.runs[i].giveUp(&p.Scope)
	}
	p.runs = live(p.runs)
	if len(p.runs) < 2 {
		if len(p.runs) < before && len(p.runs) > 0 {
			p.arm()
		}
		return
	}
	var by [states][]run[K, V]
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
	if len(p.runs) < before {
		p.arm()
	}
}

// most returns how many of the runs can make the next step together.
func most[K comparable, V any](next state, runs []run[K, V]) int {
	switch {
	case next != toLoad:
		return max(len(runs), 1)
	case runs == nil || !runs[0].f.many:
		return 1
	}
	return runs[0].f.s.cfg.MaxBatch
}

// fork gives runs to a party of their own.
func (p *party[K, V]) fork(runs []run[K, V]) {
	q := newParty(&p.Scope, runs)
	q.arm()
	runs[0].f.t.work.GoOn(&q.Task, &q.Scope)
	go q.run()
}

// fallen ends flights when their goroutine is torn down by a panic or by Goexit, so that
// nobody waits for ever.
func fallen[K comparable, V any](ctx context.Context, runs []run[K, V], panicked any) {
	out := outcome[K, V]{err: ErrGoexit}
	if panicked != nil {
		out = outcome[K, V]{panicked: asPanic(panicked)}
	}
	defer func() { // also when the remote tier ends the goroutine once more
		for i := range runs {
			if runs[i].next != ended {
				runs[i].f.end(ctx, out)
			}
		}
	}()
	for i := range runs {
		runs[i].fill = tier.Fill{}
	}
	sendFills(ctx, runs)
}

// asPanic keeps the innermost stack when a loader panics because one it waited
// for did.
func asPanic(p any) *PanicError {
	if pe, ok := p.(*PanicError); ok {
		return pe
	}
	return &PanicError{Value: p, Stack: debug.Stack()}
}
