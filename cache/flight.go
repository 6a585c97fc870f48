package cache

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/flight"
	"github.com/twofold-go/twofold/invalidate"
)

// A flight is one key being fetched or loaded, however many callers want it.
// Its leader is the caller that found nobody else at it. The leader asks the
// remote tier itself, under its own context, because that is nearly always the
// end of it and costs no goroutine. What takes longer, or is left behind by a
// leader whose context ends, goes on in a goroutine of its own (job.run), so
// that no caller depends on another's patience.

type (
	flights[K comparable, V any] = flight.Group[flightKey[K], terms, outcome[K, V]]
	call[K comparable, V any]    = flight.Call[flightKey[K], terms, outcome[K, V]]
)

// flightKey identifies a flight. The tenant is part of it, the namespace is the
// group's.
type flightKey[K comparable] struct {
	tenant string
	key    K
}

// terms are what a flight was started on. A caller joins one that is at least
// as strict as its own.
type terms struct {
	mark      invalidate.Mark // captured before anything was fetched
	begun     int64
	noStale   bool   // must not end with a stale value
	minLoaded int64  // must end with a value loaded at or after
	loads     bool   // its leader has a loader
	lent      *latch // opened by a load that joins
}

// latch runs a function once it is opened. The zero latch is closed.
type latch struct {
	mu     sync.Mutex // protects the rest
	opened bool
	f      func()
}

func (l *latch) open() {
	l.mu.Lock()
	l.opened = true
	f := l.f
	l.mu.Unlock()
	if f != nil {
		f()
	}
}

// onOpen sets what to run, and runs it at once if the latch is open.
func (l *latch) onOpen(f func()) {
	l.mu.Lock()
	l.f = f
	opened := l.opened
	l.mu.Unlock()
	if opened {
		f()
	}
}

func (j *job[K, V]) terms() terms {
	return terms{mark: j.t.fences.Capture(), begun: j.t.now(), noStale: j.o.noStale, minLoaded: j.minLoaded, loads: j.loader != nil, lent: &j.lent}
}

// joins reports whether the caller may join a flight on terms m: one that is
// as strict, and that began after the last invalidation of the key or of a
// prefix of it, as far as the lease can tell. Its tags are not known yet;
// accepts looks at those. A flight that is young enough for the caller's MaxAge may
// still end with an older value, which accepts refuses.
func (j *job[K, V]) joins(m terms) bool {
	return (j.leased || j.called-m.begun < j.t.bound) && (m.loads || j.loader == nil) && (m.noStale || !j.o.noStale) &&
		(m.minLoaded >= j.minLoaded || m.begun >= j.minLoaded) && !j.t.fences.Overtaken(m.mark, j.hash, j.text, nil)
}

// accepts reports whether the caller may be given what a flight it joined
// ended with. An outcome that was invalidated after its load began is for those
// alone who had called before.
func (j *job[K, V]) accepts(out *outcome[K, V]) bool {
	switch {
	case out.again:
		return false
	case out.it == nil:
		return true
	case out.stale != notStale && j.o.noStale:
		return false
	case out.it.born.Load() < j.tick && !j.unfenced(out.it): // the fence may have come after the load, while it was stored
		return false
	case !j.leased && j.called-out.it.readAt() >= j.t.bound && !j.clear(out.it): // the tick said nothing, and it was not loaded lately
		return false
	}
	return out.it.loadedAt >= j.minLoaded
}

// stands reports whether an old value may stand in for a load.
func (j *job[K, V]) stands(old *item[K, V]) bool {
	return old != nil && !j.o.anew && old.loadedAt >= j.minLoaded && j.clear(old)
}

// clear reports whether it is vouched for and no fence covers it by now.
func (j *job[K, V]) clear(it *item[K, V]) bool {
	lease := j.t.lease.Read() // before the fences
	return j.t.vouches(lease, j.t.now(), it.readAt()) && j.unfenced(it)
}

// FullKey implements invalidate.Keyed for the items of the job's key, without spelling it.
func (j *job[K, V]) FullKey() string { return j.text }

// unfenced reports whether no fence covers it by now.
func (j *job[K, V]) unfenced(it *item[K, V]) bool {
	return it.unfenced(j.t, j)
}

// fly joins the key's flight, or leads one, and waits for its end, for the
// caller's context or for the policy's SoftTimeout. With force it leads.
func (j *job[K, V]) fly(ctx context.Context, force bool) (out *outcome[K, V], led bool) {
	c, led := j.join(force)
	if c == nil {
		return &outcome[K, V]{err: ErrOverloaded}, true
	}
	defer c.Leave()
	if led {
		j.call = c
		if j.begin(ctx) {
			return c.Result(), true
		}
	} else {
		j.joined(ctx, c)
	}
	return j.wait(ctx, c), led
}

// join joins the key's flight or begins one, which the caller then leads; with force it
// begins one. It is apart from fly because it is over when the waiting begins, and its
// stack with it.
//
//go:noinline
func (j *job[K, V]) join(force bool) (c *call[K, V], led bool) {
	key := flightKey[K]{tenant: j.v.space.Tenant, key: j.k}
	own := j.flown
	if j.call != nil {
		own = nil // it has flown
	}
	return j.s.flights.Join(own, j.at, key, j.terms(), func(m terms) bool { return !force && j.joins(m) })
}

// joined does what is due when a caller joins another's flight.
func (j *job[K, V]) joined(ctx context.Context, c *call[K, V]) {
	j.v.counts.inc(merges)
	if Filling(ctx) != nil {
		c.Meta.lent.open()
	}
}

// wait waits for a flight to end.
func (j *job[K, V]) wait(ctx context.Context, c *call[K, V]) *outcome[K, V] {
	if j.p.SoftTimeout > 0 && !j.o.noStale {
		t := time.NewTimer(j.p.SoftTimeout)
		defer t.Stop()
		return j.waitOrServe(ctx, c, t.C)
	}
	if ctx.Done() != nil {
		return j.waitOrServe(ctx, c, nil)
	}
	<-c.Done()
	return c.Result()
}

// waitOrServe is wait for a caller that may not wait until the end: soft says when to look
// for something else to serve.
func (j *job[K, V]) waitOrServe(ctx context.Context, c *call[K, V], soft <-chan time.Time) *outcome[K, V] {
	for {
		select {
		case <-c.Done():
			return c.Result()
		case <-ctx.Done():
			// Both may be ready; an answer that is there is not thrown away.
			select {
			case <-c.Done():
				return c.Result()
			default:
				return &outcome[K, V]{err: ctx.Err()}
			}
		case <-soft:
			soft = nil
			if it := j.old(); j.stands(it) {
				c.Pin()
				return &outcome[K, V]{it: it, src: Local, stale: softTimeout}
			}
		}
	}
}

// old returns what may be served when the load fails or takes too long: an
// entry of any age its policy allows, but never an invalidated one.
func (j *job[K, V]) old() *item[K, V] {
	it := j.find(j.k)
	if it == nil || it.err != nil || it.freshness(j.t.now()) == dead {
		return nil
	}
	return it
}

// deliver turns an outcome into the caller's answer.
func (j *job[K, V]) deliver(ctx context.Context, out *outcome[K, V], led bool) (Result[V], error) {
	now := j.t.now()
	it, src, reason := out.it, out.src, out.stale
	if out.err != nil && j.stands(out.old) && !j.o.noStale {
		it, src, reason = out.old, Local, failedLoad
	}
	if it == nil {
		return Result[V]{}, j.fail(out.err)
	}
	if led {
		j.countLed(src, reason)
	} else if out.span != nil {
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: *out.span})
	}
	if it.err != nil {
		j.v.counts.inc(negatives)
	}
	j.t.countStale(j.v.counts, reason, now-it.softUntil)
	if loading.Load() != 0 {
		j.inherit(ctx, it, j.judgedUnder(it))
	}
	return j.result(it, src, reason, now), it.err
}

// judgedUnder returns a lease that vouches for an outcome: the one of now, unless
// the outcome was invalidated since the caller called, else the one of then.
func (j *job[K, V]) judgedUnder(it *item[K, V]) int64 {
	lease := j.t.lease.Read() // before the fences
	if j.unfenced(it) {
		return lease
	}
	return j.lease
}

func (j *job[K, V]) countLed(src Source, reason staleReason) {
	switch src {
	case Local:
		if reason == failedLoad || reason == softTimeout {
			return // its load was counted as a miss
		}
		j.v.counts.hit(false, notStale) // deliver counts what else it is
	case Remote:
		j.v.counts.inc(hitsRemote)
	case Load: // counted as a miss when the load began
	}
}
