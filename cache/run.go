package cache

import (
	"context"
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

// waits is for which claims of other processes a run has waited.
type waits struct {
	n     int        // how many
	last  tier.Nonce // the last of them
	since int64      // when that wait began
}

// load is one run of a loader, in its turn and within its limits.
type load struct {
	scope.Scope
	Fill
	ctx    context.Context // what the loader gets: the load itself, or that with a span
	turn   bool            // it has a turn of its own
	span   *trace.SpanContext
	traced func(error, *PanicError)
}

// late ends the flights of a load that has run out of time, or of callers, and does not
// come back: a loader may ignore its context. It runs in a goroutine of its own, while the
// party may go on. So it has what it needs, put together before the loader started, and
// reaches nothing that the party writes.
type late[K comparable, V any] struct {
	of  []overdue[K, V]
	one [1]overdue[K, V]
}

type overdue[K comparable, V any] struct {
	f     *flight[K, V]
	spare *item[K, V]
	span  *trace.SpanContext
}
