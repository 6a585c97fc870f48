package cache

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/safeguard"
)

// ask is one caller's wish for one key. It lives on that caller's stack; nobody else sees
// it.
type ask[K comparable, V any] struct {
	job[K, V]
	lease  int64  // as the caller found it
	tick   uint64 // fences applied when the caller called
	called int64
	leased bool // what was invalidated a bound before that was fenced by then
	quiet  bool // a local hit that is not one of the sample
	sample bool // a local hit of the sample
}

// begin notes what the caller may count on: the lease, then the tick, once for the call.
// Taken again for a second try they would accept what the caller must not see. The
// caller has set called: when the call began, which promises are counted from.
func (a *ask[K, V]) begin(c Cache[K, V], op string, k K, at uint64, load Loader[K, V], o *callOpts) error {
	// One by one, as a literal would be on the stack before it is here.
	a.start(c, op, k, load, o)
	a.at = at
	a.lease = a.t.lease.Read() // before the tick: what the lease vouches for is part of it
	a.tick = a.t.fences.Tick()
	a.leased = a.t.lease.Covers(a.lease, a.called) || safeguard.Off(safeguard.Lease)
	if o.maxAge >= 0 {
		a.minLoaded = a.called - int64(o.maxAge)
	}
	if a.t.work.Closed() {
		return c.fail(op, k, ErrClosed)
	}
	if c.v.err != nil {
		return c.fail(op, k, c.v.err)
	}
	return nil
}

// join joins the key's flight or begins one, which the caller then leads. With force it
// begins one. It is over when the waiting begins, and its stack with it.
//
//go:noinline
func (a *ask[K, V]) join(ctx context.Context, force bool) (f *flight[K, V], led bool, err error) {
	var in *Fill
	if loading.Load() > 0 {
		in = Filling(ctx)
	}
	if in != nil {
		if err := a.spell(); err != nil {
			return nil, false, err
		}
		if in.loads(a.t, a.FullKey()) {
			return nil, false, ErrRecursive
		}
	}
	ok := func(f *flight[K, V]) bool { return !force && a.joins(f) }
	if c := a.s.flights.Find(a.at, ok); c != nil {
		f = c.Meta
	} else if f, led, err = a.newFlight(in, ok); err != nil {
		return nil, false, err
	}
	if in != nil {
		// Who has something to serve after SoftTimeout is in no circle for longer.
		if err := in.await(&f.fill); err != nil && !a.apart() {
			f.Leave()
			return nil, false, err
		}
	}
	return f, led, nil
}

// newFlight begins a flight, unless somebody else does at this moment.
func (a *ask[K, V]) newFlight(in *Fill, ok func(*flight[K, V]) bool) (f *flight[K, V], led bool, err error) {
	if err := a.spell(); err != nil {
		return nil, false, err
	}
	f = new(flight[K, V])
	f.job, f.outer = a.job, in
	f.mark, f.begun = a.t.fences.Capture(), a.t.now() // not when the caller called: it may be its second flight
	f.Meta = f
	c, led := a.s.flights.Join(a.at, &f.Call, ok)
	if c == nil {
		return nil, false, ErrOverloaded
	}
	return c.Meta, led, nil
}

// leave ends the caller's part in a flight.
func (a *ask[K, V]) leave(ctx context.Context, f *flight[K, V]) {
	if loading.Load() > 0 {
		Filling(ctx).awaited(&f.fill)
	}
	f.Leave()
}

// joins reports whether the caller may join a flight: one that is as strict, that leaves
// the same tiers out, so that nobody is given or made to keep what it asked not to, and that
// began after the last invalidation of the key or of a prefix of it, as far as the lease
// can tell. Its tags are not known yet; accepts looks at those. A flight that is young
// enough for the caller's MaxAge may still end with an older value, which accepts refuses.
func (a *ask[K, V]) joins(f *flight[K, V]) bool {
	return f.k == a.k && (f.v == a.v || f.v.space == a.v.space) &&
		(!a.o.anew || f.o.anew && !f.loading.Load()) &&
		(a.leased || a.called-f.begun < a.t.bound) &&
		(f.canLoad() || !a.canLoad()) &&
		(f.o.noStale || !a.o.noStale) &&
		f.o.skipLocal == a.o.skipLocal && f.o.skipRemote == a.o.skipRemote &&
		(a.o.anew || f.minLoaded >= a.minLoaded || f.begun >= a.minLoaded) &&
		!a.overtook(f)
}

// overtook reports whether the flight's key, or a prefix of it, was invalidated or expired
// since the flight began.
func (a *ask[K, V]) overtook(f *flight[K, V]) bool {
	fresh, overtaken := a.t.fences.Overtaken(f.mark, f.hash, f.FullKey(), nil)
	return overtaken || fresh != follow.Forever
}

// accepts reports whether the caller may be given what a flight it joined
// ended with. An outcome that was invalidated after its load began is for those
// alone who had called before.
func (a *ask[K, V]) accepts(f *flight[K, V], out *outcome[K, V]) bool {
	switch {
	case out.again:
		return false
	case out.it == nil:
		return true
	case out.stale != notStale && a.o.noStale:
		return false
	case out.it.born.Load() < a.tick && !f.unfenced(out.it): // the fence may have come after the load, while it was stored
		return false
	case !a.leased && a.called-out.it.readAt() >= a.t.bound && !a.clear(out.it): // the tick said nothing, and it was not loaded lately
		return false
	case out.stale == notStale && f.mark.Tick < a.tick && out.it.ended.Load() != 0: // an Expire may have come in between
		return false
	}
	return out.it.loadedAt >= a.minLoaded
}

// patience is how long a call waits before it looks for something else to serve: the
// policy's SoftTimeout, once for all its keys. It begins with the first wait.
type patience struct {
	timer *time.Timer
	over  bool
}

func (p *patience) stop() {
	if p.timer != nil {
		p.timer.Stop()
	}
}

// wait waits for the flight to end, for the caller's context or for its patience.
func (a *ask[K, V]) wait(ctx context.Context, f *flight[K, V], p *patience) *outcome[K, V] {
	if out := f.Ended(); out != nil {
		return out
	}
	if a.p.SoftTimeout > 0 && !a.o.noStale {
		if p.timer == nil {
			p.timer = time.NewTimer(a.p.SoftTimeout)
		}
		return a.waitOrServe(ctx, f, p)
	}
	if ctx.Done() != nil {
		return a.waitOrServe(ctx, f, nil)
	}
	<-f.Done()
	return f.Ended()
}

// waitOrServe is wait for a caller that may not wait until the end.
func (a *ask[K, V]) waitOrServe(ctx context.Context, f *flight[K, V], p *patience) *outcome[K, V] {
	var soft <-chan time.Time
	if p != nil && !p.over {
		soft = p.timer.C
	}
	if p != nil && p.over {
		if it := a.standing(); a.bridges(it) {
			f.Pin()
			return &outcome[K, V]{it: it, src: Local, stale: softTimeout}
		}
	}
	select {
	case <-f.Done():
		return f.Ended()
	case <-soft:
		p.over = true
		return a.waitOrServe(ctx, f, p)
	case <-ctx.Done():
		// Both may be ready; an answer that is there is not thrown away.
		if out := f.Ended(); out != nil {
			return out
		}
		return &outcome[K, V]{err: ctx.Err()}
	}
}

// stands reports whether an old value may stand in for a load.
func (a *ask[K, V]) stands(old *item[K, V]) bool {
	return old != nil && !a.o.anew && old.loadedAt >= a.minLoaded && a.clear(old)
}

// bridges reports whether an old value may be served while a load goes on.
func (a *ask[K, V]) bridges(old *item[K, V]) bool { return a.stands(old) && old.bridges(a.t.now()) }

// deliver turns an outcome into the caller's answer.
func (a *ask[K, V]) deliver(ctx context.Context, f *flight[K, V], out *outcome[K, V], led bool) (Result[V], error) {
	now := a.t.now()
	it, src, reason := out.it, out.src, out.stale
	if out.err != nil && a.stands(out.old) && !a.o.noStale {
		it, src, reason = out.old, Local, failedLoad
		if a.o.skipLocal {
			src = Remote
		}
	}
	if it == nil {
		return Result[V]{}, &Error{Op: a.op, Key: f.FullKey(), Err: out.err}
	}
	if led {
		a.countLed(out, src, reason)
	} else if out.span != nil {
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: *out.span})
	}
	if it.err != nil {
		a.v.counts.inc(negatives)
	}
	if reason == notStale && src == Load && it.worn {
		reason = revalidating
	}
	a.t.countStale(a.v.counts, reason, now-it.freshUntil())
	if loading.Load() != 0 {
		a.inherit(ctx, it, a.judgedUnder(f, it))
	}
	err := it.err
	if out.cause != nil {
		err = &Error{Op: a.op, Key: f.FullKey(), Err: out.cause}
	}
	return a.result(it, src, reason, now), err
}

// judgedUnder returns a lease that vouches for an outcome: the one of now, unless
// the outcome was invalidated since the caller called, else the one of then.
func (a *ask[K, V]) judgedUnder(f *flight[K, V], it *item[K, V]) int64 {
	lease := a.t.lease.Read() // before the fences
	if f.unfenced(it) {
		return lease
	}
	return a.lease
}

func (a *ask[K, V]) countLed(out *outcome[K, V], src Source, reason staleReason) {
	if out.err != nil || reason == softTimeout {
		return // its load was counted as a miss
	}
	switch src {
	case Local:
		a.v.counts.hit(false, notStale) // deliver counts what else it is
	case Remote:
		a.v.counts.inc(hitsRemote)
	case Load: // counted as a miss when the load began
	}
}

// apart reports whether the caller has something to serve when its SoftTimeout is over. Then
// it must not be held up itself.
func (a *ask[K, V]) apart() bool {
	return a.p.SoftTimeout > 0 && !a.o.noStale && a.bridges(a.standing())
}
