package cache

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	calls "github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/scope"
)

// flight is one key being fetched or loaded, for all who ask for it. It is what their
// goroutines share: the job and its terms never change, the rest has locks of its own. It
// knows nothing of the goroutine that does the work; see party.
type flight[K comparable, V any] struct {
	job[K, V]
	mark  follow.Mark // captured before anything was fetched
	begun int64
	outer *Fill // the load that the flight is an ingredient of

	calls.Call[*flight[K, V], outcome[K, V]]
	lent    scope.Latch          // opened when a load waits for this flight; see takeTurn
	loading atomic.Bool          // a loader was called
	fill    atomic.Pointer[Fill] // the latest load; see Fill.await
	look    scope.Deadline       // of the first call to the remote tier
}

// outcome is what a flight ends with.
type outcome[K comparable, V any] struct {
	it       *item[K, V] // the value or remembered absence; nil when err is set
	src      Source
	stale    staleReason // not zero: it is served although it is not fresh
	err      error       // why there is no value
	cause    error       // why it is absent, as the loader said it
	old      *item[K, V] // beside err: what may be served in its place
	again    bool        // nothing was learnt; whoever waits starts over
	panicked *PanicError
	span     *trace.SpanContext // of the load, for the spans of those who waited for it; nil: it has none
	then     *item[K, V]        // what is to be refreshed when the flight has ended
}

// end ends the flight, unless it has ended already. What follows comes after it: a refresh
// that begins before would find the flight and leave the work to it. Any goroutine may
// call it. The values of ctx are those of the refresh.
func (f *flight[K, V]) end(ctx context.Context, out outcome[K, V]) {
	if !f.Finish(out) {
		return
	}
	if f.refreshing != nil {
		f.refreshed(&out)
	}
	if out.then != nil {
		f.refreshLater(ctx, out.then)
	}
}

// failed ends the flight with an error. An old value that may stand in for it is
// served for a Throttle without another load. That is noted before anybody is woken, or the
// next read would load.
func (f *flight[K, V]) failed(ctx context.Context, out outcome[K, V], spare *item[K, V]) {
	out.old = f.standIn(spare)
	if out.old != nil && f.refreshing == nil && f.Wanted() {
		out.old.spare(f.t.now(), f.p.Throttle)
	}
	f.end(ctx, out)
}

// standIn returns what may be served when the load fails, spare perhaps: a value of the
// remote tier that the local one may not have taken.
func (f *flight[K, V]) standIn(spare *item[K, V]) *item[K, V] {
	if it := f.standing(); it != nil || spare == nil {
		return it
	}
	if spare.err != nil || spare.freshness(f.t.now()) == dead || !f.clear(spare) {
		return nil
	}
	return spare
}

// predecessor returns the value that a load is to replace, of any age that it is kept for:
// the newer of what this process holds and spare. A worn one is none: of its expired part
// the loader's source knows nothing, and would say that it still stands.
func (f *flight[K, V]) predecessor(spare *item[K, V]) *item[K, V] {
	var it *item[K, V]
	var now int64
	if !f.o.skipLocal {
		it, now = f.find(f.at, f.k, 0)
	}
	if it != nil && !it.precedes(now) {
		it = nil
	}
	if spare == nil || !spare.precedes(f.t.or(now)) ||
		it != nil && it.loadedAt >= spare.loadedAt || !f.clear(spare) {
		return it
	}
	return spare
}

// here returns what this process holds, if it answers the flight, and why that is stale.
func (f *flight[K, V]) here() (*item[K, V], staleReason) {
	if f.o.skipLocal {
		return nil, notStale
	}
	it, now := f.find(f.at, f.k, 0)
	if old := f.refreshing; it == nil || old != nil && it.loadedAt <= old.loadedAt {
		return nil, notStale // or it is what a refresh is to replace
	}
	if f.o.anew || it.loadedAt < f.minLoaded {
		return nil, notStale
	}
	switch state := it.freshness(now); {
	case state == fresh:
		return it, notStale
	case state != dead && !f.o.noStale && f.refreshing == nil && it.spared(now):
		return it, failedLoad // another load failed a moment ago
	}
	return nil, notStale
}
