package cache

import (
	"context"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/tier"
)

// maxReloads is how often a load overtaken by an invalidation is repeated.
const maxReloads = 2

// maxRefusals is how many claims over frames that nobody holds may be refused
// before the flight goes on without the remote tier: what it is shown is not
// what is there.
const maxRefusals = 8

// lead is what the leader of a flight keeps while it flies.
type lead[K comparable, V any] struct {
	call       *call[K, V]
	flown      *call[K, V]   // what call is, the first time
	effort     *effort[K, V] // nil: the flight is one of a batch, or took none
	outer      *Fill         // the load that the flight is an ingredient of
	running    running       // whose Cancel ends the job's ctx
	tries      int           // loads so far, a batch's included
	waiting    waiting
	after      func()      // runs when the flight has ended
	lent       latch       // opened when a load waits for this flight; see takeTurn
	refreshing *item[K, V] // not nil: a background refresh of it
	first      *frame[K, V]
	spare      *item[K, V] // the remote tier's value, not fit to be served as it is
	cut        bool        // the remote tier failed; this flight does without it
	held       bool        // the remote tier says not to cache the key now
	claimed    bool
	claim      tier.Claim
	span       *trace.SpanContext // of the load; nil: it has none
}

// effort is what a flight needs that is not over after a look at each tier: the job's ctx,
// detached from every caller until the last one leaves, and the first load.
type effort[K comparable, V any] struct {
	own  detached
	load load
	late late[K, V]
}

// begin is the part of a flight that runs on its leader. It reports whether
// that was all of it.
func (j *job[K, V]) begin(ctx context.Context) (done bool) {
	orderly := false
	defer func() {
		if !orderly {
			j.fallen(recover())
		}
	}()
	done = j.quick(ctx)
	if !done && j.loader == nil {
		done = j.ended(outcome[K, V]{err: ErrMiss})
	}
	orderly = true
	return done || !j.launch(ctx)
}

// quick ends the flight if it takes no more than one look at each tier.
func (j *job[K, V]) quick(ctx context.Context) bool {
	if j.p.Off {
		return false
	}
	// Another flight may have ended between our look and our Join.
	if it := j.here(); it != nil {
		return j.ended(outcome[K, V]{it: it, src: Local})
	}
	if j.t.remote == nil {
		return false
	}
	f, err := j.look(ctx)
	if err != nil {
		// A caller that left says nothing about the tier. Its deadline may be over
		// although its context does not say so yet.
		j.cut = !left(err) && ctx.Err() == nil
		return false
	}
	if out, ok := j.serve(ctx, f); ok {
		return j.ended(out)
	}
	first := f // on the heap only now
	j.first = &first
	return false
}

// here returns what this process holds, if it answers the flight.
func (j *job[K, V]) here() *item[K, V] {
	it := j.find(j.k)
	if it == nil || j.o.anew || it.failSafe || it.loadedAt < j.minLoaded || it.freshness(j.t.now()) != fresh {
		return nil
	}
	return it
}

// launch goes on in a goroutine. It reports false, with the flight ended, when
// the tiers are closed.
func (j *job[K, V]) launch(ctx context.Context) bool {
	j.effort = new(effort[K, V])
	own := &j.effort.own
	own.values, j.outer = endless(ctx), Filling(ctx)
	j.ctx, j.running.Canceler = own, own
	if !j.t.work.begin(&j.running) {
		own.Cancel()
		j.ended(outcome[K, V]{err: ErrClosed})
		return false
	}
	j.call.OnAbandon(own)
	go j.run()
	return true
}

// run is the flight's goroutine.
func (j *job[K, V]) run() {
	defer j.t.work.end(&j.running)
	defer j.running.Cancel()
	if j.refreshing != nil {
		defer j.t.refresh.Release(1)
	}
	orderly := false
	defer func() {
		if !orderly {
			j.fallen(recover())
		}
	}()
	j.fetch()
	orderly = true
}

// fetch asks the remote tier or loads until there is an answer that no
// invalidation has overtaken, or until it was overtaken too often.
func (j *job[K, V]) fetch() {
	for ; ; j.tries++ {
		if !j.acquire() {
			return
		}
		if j.tries == 0 && j.refreshing == nil {
			j.v.counts.inc(misses)
		}
		a := j.attempt()
		if a.overtaken && j.tries+j.waiting.waits < maxReloads && j.wantsMore(a) {
			j.release()
			// A Set that overtook the load has left the value that is to be read now.
			if it := j.here(); it != nil {
				j.ended(outcome[K, V]{it: it, src: Local})
				return
			}
			j.v.counts.inc(reloads)
			continue
		}
		j.settle(a)
		return
	}
}

// wantsMore reports whether a caller waits for the flight after an attempt. A flight
// whose load was late has answered its callers, or is about to.
func (j *job[K, V]) wantsMore(a attempt[K, V]) bool {
	return !a.late && j.ctx.Err() == nil && j.call.Wanted()
}

// fallen ends the flight when its goroutine is torn down by a panic or by
// Goexit, so that nobody waits for ever.
func (j *job[K, V]) fallen(p any) {
	if j.claimed {
		j.release()
	}
	out := outcome[K, V]{err: ErrGoexit}
	if p != nil {
		out = outcome[K, V]{panicked: asPanic(p)}
	}
	j.ended(out)
}

// asPanic keeps the innermost stack when a loader panics because one it waited
// for did.
func asPanic(p any) *PanicError {
	if pe, ok := p.(*PanicError); ok {
		return pe
	}
	return &PanicError{Value: p, Stack: debug.Stack()}
}

// acquire asks the remote tier until it has the value or the claim to load it.
// It reports whether to load now; otherwise the flight has ended.
func (j *job[K, V]) acquire() bool {
	if j.p.Off || j.t.remote == nil || j.claimed {
		return true
	}
	start, refusals := j.t.now(), 0
	nap := time.Millisecond
	for !j.cut {
		if err := j.ctx.Err(); err != nil {
			j.ended(outcome[K, V]{err: err})
			return false
		}
		f, err := j.next()
		if err != nil {
			j.cut = true
			break
		}
		if out, ok := j.serve(j.ctx, f); ok {
			j.ended(out)
			return false
		}
		if out, ok := j.fallback(); ok {
			j.ended(out)
			return false
		}
		if f.verdict == held {
			j.held = true
			return true
		}
		if f.claimed && f.nonce == j.claim.Nonce && !f.nonce.IsZero() {
			j.claimed = true // by ourselves: the reply was wrong
			return true
		}
		waited := time.Duration(j.t.now() - start)
		if j.tryClaim(f, waited > j.p.LoadTimeout) {
			return true
		}
		switch {
		case j.refreshing != nil && j.first == nil:
			j.ended(outcome[K, V]{again: true})
			return false
		case j.first != nil: // the next round judges it
			if refusals++; refusals == maxRefusals {
				j.cut = true
			}
		case !j.cut && f.claimed && !j.waitsFor(f.nonce):
			return true // beside the load that has the claim
		case !j.cut:
			nap = j.nap(nap, waited)
		}
	}
	if err := j.ctx.Err(); err != nil { // the callers left while the tier was asked
		j.ended(outcome[K, V]{err: err})
		return false
	}
	if out, ok := j.fallback(); ok {
		j.ended(out)
		return false
	}
	return true
}

// refreshAfter starts a refresh of it when this flight has ended: before, the
// refresh would find the flight and leave the work to it.
func (j *job[K, V]) refreshAfter(ctx context.Context, it *item[K, V]) {
	j.after = func() { j.refreshLater(ctx, it, j.loader, j.o) }
}

// next returns the frame the flight already has, or fetches one.
func (j *job[K, V]) next() (frame[K, V], error) {
	if f := j.first; f != nil {
		j.first = nil
		return *f, nil
	}
	return j.look(j.ctx)
}

// look asks the remote tier for the key. Without a lease it does not: what it
// would be told could not be judged.
func (j *job[K, V]) look(ctx context.Context) (frame[K, V], error) {
	if !j.canJudge(ctx) {
		return frame[K, V]{}, errUnconfirmed
	}
	mark := j.t.fences.Capture() // before the fetch: its reply may be overtaken on the wire
	raw, err := j.t.remote.get(ctx, j.p.RemoteTimeout, j.text)
	if err != nil {
		return frame[K, V]{}, err
	}
	return j.assess(ctx, raw, mark)
}

// serve ends a look-up with the remote tier's value, if it may be served. A
// value that may not is kept for when the load fails.
func (j *job[K, V]) serve(ctx context.Context, f frame[K, V]) (outcome[K, V], bool) {
	if f.verdict != usable {
		return outcome[K, V]{}, false
	}
	it, now := f.it, j.t.now()
	j.spare = it
	if it.loadedAt < j.minLoaded || j.o.anew {
		return outcome[K, V]{}, false
	}
	switch state := it.freshness(now); {
	case j.refreshing != nil:
		if state < untrusted || it.loadedAt <= j.refreshing.loadedAt+int64(time.Millisecond) {
			return outcome[K, V]{}, false // it is what we are to replace
		}
		j.put(it)
		j.v.counts.inc(refreshAdopted)
		return outcome[K, V]{it: it, src: Remote}, true
	case state >= untrusted:
		j.put(it)
		if it.due(now, j.p) {
			j.refreshAfter(ctx, it)
		}
		return outcome[K, V]{it: it, src: Remote}, true
	case state == stale && !j.o.noStale:
		j.put(it)
		j.refreshAfter(ctx, it)
		return outcome[K, V]{it: it, src: Remote, stale: revalidating}, true
	}
	j.put(it)
	return outcome[K, V]{}, false
}

// fallback ends a look-up that the remote tier could not answer with what this
// process holds: a fresh value that was only due for a second look, when the
// tier is out of reach, or a stale one.
func (j *job[K, V]) fallback() (outcome[K, V], bool) {
	if j.refreshing != nil {
		return outcome[K, V]{}, false
	}
	it := j.find(j.k)
	if it == nil || it.loadedAt < j.minLoaded || it.failSafe || j.o.anew {
		return outcome[K, V]{}, false
	}
	switch it.freshness(j.t.now()) {
	case fresh, untrusted:
		if j.cut {
			return outcome[K, V]{it: it, src: Local}, true
		}
	case stale:
		if !j.o.noStale {
			j.refreshAfter(j.ctx, it)
			return outcome[K, V]{it: it, src: Local, stale: revalidating}, true
		}
	case lastHope, dead:
	}
	return outcome[K, V]{}, false
}
