package engine

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/tier"
)

// How a key is fetched or loaded. A run is the working state of one flight. The leader makes the
// first step itself, under its own context: that step is nearly always the last one, and costs
// no goroutine. The other steps happen in a party: a goroutine with its own context, and the
// runs that take the same steps, with one round trip per step. A Get begins a party of one run,
// a GetMany a party of many. Only the party's goroutine sees its runs.
//
//	LOOK ──► check ─┬─► END    a tier holds a value that may be served
//	  ▲             ├─► WAIT   another process loads ──► LOOK
//	  │             ├─► CLAIM ─┬─ granted ──────────────────────────► LOAD
//	  │             │          ├─ refused, with a frame ──► check it
//	  │             │          └─ refused without ──► WAIT, or CLAIM by force
//	  │             └─► LOAD   without a claim: no remote tier, or it was cut off; Off;
//	  │                        or another process's load stored nothing
//	  │             LOAD ──► keep or drop ──► FILL ─┬─► END
//	  └─────────────────────────────────────────────┘  overtaken by an invalidation; a caller waits
//
//	event                who ends the flight, and with what    what the party does then
//	an answer            the party, once it is stored          nothing
//	LoadTimeout          the load's timer: an old value, or    when the loader returns: stores
//	                     ErrLoadTimeout (see late)             its value, or gives the claim back
//	the last caller left no caller waits; never with the       if the loader returns a value all
//	                     policy's Detached                     the same: stores it
//	a panic, a Goexit    the party, by fallen                  gives all claims back
//	Close                the party, with ErrClosed             gives the claim back
//	a claim was lost     the party, with the value             keeps it nowhere
//
// Runs that differ after a step continue in separate parties. So keys of Load are loaded
// at the same time, and keys of LoadMany in parties of at most MaxBatch.

type state uint8

const (
	toLook state = iota
	toWait
	toClaim
	toLoad
	toFill
	ended
)

// maxReloads limits how often a load that an invalidation overtook is repeated.
const maxReloads = 2

// maxRefusals limits how many claims of a run may be refused over frames that no process has
// claimed. Then the run continues without the remote tier, whose answers do not agree.
const maxRefusals = 8

// run is the working state of a flight. Parties copy it, so it has no lock.
type run struct {
	f     *flight
	next  state
	frame resident.Frame  // from the remote tier
	spare *resident.Entry // the frame's value, if it could not be served directly
	far   bool            // this process held no value of that load
	claim tier.Claim

	claimed bool // this run holds the claim
	force   bool // the next claim must replace the value
	cut     bool // the remote tier failed; this run continues without it

	since    int64 // when it began to look
	nap      time.Duration
	refusals int
	tries    int // loads so far
	waits    waits

	fill  tier.Fill          // sent to the claim; without a Cell it gives the claim back
	keep  *resident.Entry    // goes to the local tier, unless the claim was lost
	size  int64              // of keep's value
	out   outcome            // the flight's outcome; see finish
	then  *resident.Entry    // to be refreshed after the flight; see refreshStale
	again bool               // the load was overtaken and is repeated
	span  *trace.SpanContext // of the last load
}

// party is the runs of one goroutine.
type party struct {
	calls.Scope // the context of its work
	runs        []run
	parts       *atomic.Int64 // the parties of a refresh that has forked; nil: only this one

	one   [1]run // the memory for the runs of a party of one
	first load   // the first load; most parties have no other
	late  late
}

// countdown cancels a scope when all the flights of a party are abandoned.
type countdown struct {
	left  atomic.Int64
	scope *calls.Scope
}

func (c *countdown) Cancel() {
	if c.left.Add(-1) == 0 {
		c.scope.Cancel()
	}
}

// waits describes the claims of other processes for which a run has waited.
type waits struct {
	n     int        // how many
	last  tier.Nonce // the last of them
	since int64      // when the last wait began
}

// load is one call of a loader, with its turn and its limits.
type load struct {
	calls.Scope
	resident.Fill
	ctx    context.Context // the loader's context: the load itself, or a child with a span
	turn   resident.Turn   // its own, unless it runs in another load's
	span   *trace.SpanContext
	traced func(failed bool)
}

// late ends the flights of a load after LoadTimeout, or when no caller waits any more. The
// loader may ignore its context, so the load itself may not return. late runs in its own
// goroutine while the party may continue. So its data is complete before the loader starts, and
// it reads nothing that the party writes.
type late struct {
	of  []overdue
	one [1]overdue
}

type overdue struct {
	f     *flight
	spare *resident.Entry
	far   bool
	span  *trace.SpanContext
}

// texts returns the full keys of runs.
func texts(runs []run) []string {
	texts := make([]string, len(runs))
	for i := range runs {
		texts[i] = runs[i].f.j.FullKey()
	}
	return texts
}

// end ends the run and its flight.
func (r *run) end(out outcome) {
	r.next = ended
	out.span = r.span
	r.f.end(out)
}
