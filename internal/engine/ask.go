package engine

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

// Asked is the key of an ask, as the typed side knows it. Its functions stay on the caller's stack,
// so nothing stores them. An ask with an entry needs none.
type Asked struct {
	Same  func(*resident.Entry) bool // whether an entry of the view holds the key
	Blank func() *resident.Entry     // a new entry with the key
}

// Ask is one caller's request for one key. It lives on that caller's stack, and no other
// goroutine sees it.
type Ask struct {
	j      resident.Job
	lease  int64   // when the call began
	tick   uint64  // fences applied when the caller called
	called int64   // the time from which the guarantees count
	since  int64   // the time from which the caller waits
	leased bool    // every invalidation older than the bound was fenced when the call began
	quiet  bool    // a local hit outside the sample
	sample bool    // a local hit in the sample
	led    bool    // the caller leads f
	done   bool    // the caller has its answer
	f      *flight // that the caller takes part in; nil: none
}

// Start begins the only ask of a call. An error is the bare cause.
func (a *Ask) Start(ctx context.Context, v *resident.View, op string, at uint64, load any, o *resident.Options) error {
	a.since = v.Core.Now()
	a.called = called(ctx, v, a.since, o)
	return a.begin(v, op, at, load, o)
}

// called returns the time from which the guarantees of a call count that began at a time.
func called(ctx context.Context, v *resident.View, begun int64, o *resident.Options) int64 {
	if o.Anew {
		return begun
	}
	return v.Core.Confirm(ctx, o.Within(), begun)
}

// begin reads the lease and then the tick, once for the call. A second reading for a retry would
// accept values that the caller must not see. The caller has set called: the time from which the
// guarantees count. An error is the bare cause.
func (a *Ask) begin(v *resident.View, op string, at uint64, load any, o *resident.Options) error {
	// One by one: a literal would first be built on the stack.
	a.j.Start(v, op, load, o)
	a.j.Addr = at
	a.lease = a.j.Core.Lease.Read() // before the tick, which includes every fence that the lease stands for
	a.tick = a.j.Core.Fences.Tick()
	a.leased = a.j.Core.Lease.Covers(a.lease, a.called) || safeguard.Off(safeguard.Lease)
	if o.MaxAge >= 0 {
		a.j.MinLoaded = a.called - int64(o.MaxAge)
	}
	if a.j.Core.Work.Closed() {
		return fault.ErrClosed
	}
	return v.Err
}

// own gives the ask an entry with its key. A joiner rarely needs one.
func (a *Ask) own(k Asked) {
	if a.j.Entry == nil {
		a.j.Entry = k.Blank()
	}
}

// join joins the key's flight, or begins one that the caller leads. With force it always begins
// one. It returns before the caller waits, and frees its stack.
//
//go:noinline
func (a *Ask) join(ctx context.Context, k Asked, force bool) (f *flight, led bool, err error) {
	var in *resident.Fill
	if resident.Loading.Load() > 0 {
		in = resident.Running(ctx)
	}
	if in != nil {
		a.own(k)
		if err := a.j.Spell(); err != nil {
			return nil, false, err
		}
		if in.Loads(&a.j.Core.Fills, a.j.FullKey()) {
			return nil, false, fault.ErrRecursive
		}
		in.DependOn(&a.j.Core.Fills, a.j.FullKey(), a.j.View.Prefixes()) // also if the read fails
	}
	same := k.Same
	if a.j.Entry != nil {
		same = a.j.Same
	}
	ok := func(f *flight) bool { return !force && a.joins(f) && same(f.j.Entry) }
	if c := flightsOf(a.j.View).Find(a.j.Addr, ok); c != nil {
		f = c.Meta
	} else if f, led, err = a.newFlight(in, k, ok); err != nil {
		return nil, false, err
	}
	if a.j.Entry == nil {
		a.j.Entry, a.j.Used = f.j.Entry, true // of an equal key
	}
	if in != nil {
		// A caller that has a value to serve after SoftTimeout does not stay in a circle.
		if err := in.Await(&f.fill); err != nil && !a.apart() {
			f.Leave()
			return nil, false, err
		}
	}
	return f, led, nil
}

// newFlight begins a flight, unless another goroutine begins one at this moment.
func (a *Ask) newFlight(in *resident.Fill, k Asked, ok func(*flight) bool) (f *flight, led bool, err error) {
	a.own(k)
	if err := a.j.Spell(); err != nil {
		return nil, false, err
	}
	f = new(flight)
	f.j, f.outer = a.j, in
	f.mark, f.begun = a.j.Core.Fences.Capture(), a.j.Core.Now() // this may be the caller's second flight
	f.Meta = f
	c, led := flightsOf(a.j.View).Join(a.j.Addr, &f.Call, ok)
	if c == nil {
		a.j.View.Counts.Inc(measure.FlightRefused)
		return nil, false, fault.ErrOverloaded
	}
	return c.Meta, led, nil
}

// leave ends the caller's part in its flight.
func (a *Ask) leave(ctx context.Context) {
	if resident.Loading.Load() > 0 {
		resident.FillOf(ctx).Awaited(&a.f.fill)
	}
	a.f.Leave()
	a.f = nil
}

// joins reports whether the caller may join a flight: every line must hold. The last line needs no
// tags, which are not known yet; accepts checks them.
func (a *Ask) joins(f *flight) bool {
	mine, flown := &a.j, &f.j
	return (flown.View == mine.View || flown.View.Space == mine.View.Space) && // the handle: namespace and tenant
		flown.Opts.Skip == mine.Opts.Skip && //                             SkipLocal, SkipRemote: neither stores what the other excluded
		flown.Policy.Off == mine.Policy.Off && //                               policy Off: the same
		(flown.CanLoad() || !mine.CanLoad()) && //                    a loader of the call, or of the Config
		(flown.Opts.NoStale || !mine.Opts.NoStale) && //                    Fresh: as strict as the caller
		(!mine.Opts.Anew || flown.Opts.Anew && !f.loading.Load()) && //     MaxAge(0), Refresh: the load has not begun
		(mine.Opts.Anew || max(flown.MinLoaded, f.begun) >= mine.MinLoaded) && // MaxAge: it may end with an older value, which accepts refuses
		(a.leased || a.called-f.begun < mine.Core.Bound) && //           the lease: without it a fence may be missing for so old a flight
		!a.overtook(f) //                                             an invalidation or Expire of the key or a prefix
}

// peeks reports whether the caller asks the remote tier before it waits for the flight that it has joined. That flight loads
// in any case: it is a Refresh, or a background refresh of a value that the caller cannot see here.
func (a *Ask) peeks() bool {
	f := a.f
	return (f.j.Opts.Anew || f.j.Refreshing != nil && f.j.Standing() == nil) &&
		!a.j.Opts.Anew && a.j.Refreshing == nil && !a.j.Policy.Off && a.j.Far() != nil && f.Ended() == nil
}

// peek gives the answer of the remote tier to the caller, if there is one that the caller may take. It returns before the
// caller waits, and frees its stack.
//
//go:noinline
func (a *Ask) peek(ctx context.Context, i int, give give) bool {
	j := a.j // the entry of a.j is of the flight, or for its value
	j.Full, j.Hash, j.Used = a.f.j.Full, a.f.j.Hash, true
	got, err := j.GetCell(ctx, new(calls.Deadline))
	if err != nil || got.Verdict != resident.Usable {
		return false
	}
	out := outcome{it: got.It, src: resident.Remote}
	switch state := got.It.Freshness(j.Core.Now()); {
	case state >= resident.Untrusted:
	case state == resident.Stale:
		out.stale = measure.Revalidating
	default:
		return false
	}
	if !a.accepts(a.f, &out) {
		return false
	}
	j.Put(got.It, got.Size)
	a.done = true
	r, err := a.deliver(ctx, a.f, &out, true)
	give(i, r, err)
	return true
}

// overtook reports whether the flight's key, or a prefix of it, was invalidated or expired after
// the flight began.
func (a *Ask) overtook(f *flight) bool {
	fresh, overtaken := f.j.Overtaken(f.mark, nil)
	return overtaken || fresh != fence.Forever
}

// accepts reports whether the caller may take the outcome of a flight that it joined: no line may
// hold. If an invalidation followed the load, only callers from before it may take the value.
func (a *Ask) accepts(f *flight, out *outcome) bool {
	switch it := out.it; {
	case out.again: // a refresh found the load in another process
		return false
	case it == nil: // an error is everyone's
		return true
	case out.stale != measure.NotStale && a.j.Opts.NoStale: // Fresh
		return false
	case it.LoadedAt < a.j.MinLoaded: // MaxAge
		return false
	case it.Mark() < a.tick && !f.j.Unfenced(it): // a fence from before the call, perhaps from before the store
		return false
	case !a.leased && a.called-it.ReadAt() >= a.j.Core.Bound && !a.j.View.Clear(it): // no lease: the tick proves nothing
		return false
	case out.stale == measure.NotStale && f.mark.Tick < a.tick && it.Ended.Load() != 0: // an Expire in between
		return false
	}
	return true
}

// Answer is what a read gives its caller. Without an entry the call has failed.
type Answer struct {
	It    *resident.Entry
	Src   resident.Source
	Stale bool
	at    int64 // when it was given
}

// Age returns the time since the value's load began.
func (r *Answer) Age() time.Duration { return max(time.Duration(r.at-r.It.LoadedAt), 0) }

// FreshFor returns how much longer the value is fresh.
func (r *Answer) FreshFor() time.Duration {
	if r.Stale {
		return 0
	}
	return r.It.FreshFor(r.at)
}

// deliver turns an outcome into the caller's answer.
func (a *Ask) deliver(ctx context.Context, f *flight, out *outcome, led bool) (Answer, error) {
	now := a.j.Core.Now()
	it, src, reason := out.it, out.src, out.stale
	if (out.err != nil || it != nil && it.Remembered()) && a.stands(out.old) && !a.j.Opts.NoStale {
		it, src, reason = out.old, resident.Local, measure.FailedLoad
		if out.far {
			src = resident.Remote
		}
	}
	if it == nil {
		return Answer{}, a.j.Core.Faults.Of(a.j.Op, f.j.FullKey(), out.err)
	}
	if led {
		a.countLed(out, src, reason)
		if a.j.Policy.Audit > 0 && src != resident.Load && out.err == nil {
			a.j.Core.Sampled(ctx, a.j, it, src, a.j.Policy.Audit)
		}
	} else if out.span != nil {
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: *out.span})
	}
	if it.Err != nil {
		a.j.View.Counts.Inc(measure.Negatives)
	}
	if reason == measure.NotStale && src == resident.Load && out.ofExpired {
		reason = measure.Revalidating
	}
	a.j.Core.Seen.Stale(a.j.View.Counts, reason, now-it.FreshUntil())
	if resident.Loading.Load() != 0 {
		a.j.View.Inherit(ctx, it, a.checkedUnder(f, it))
	}
	err := it.Err
	if out.cause != nil {
		err = a.j.Core.Faults.Of(a.j.Op, f.j.FullKey(), out.cause)
	}
	return Answer{it, src, reason != measure.NotStale, now}, err
}

// checkedUnder returns the lease under which an outcome was checked. That is the present lease. If the
// outcome was invalidated after the caller called, it is the lease from then.
func (a *Ask) checkedUnder(f *flight, it *resident.Entry) int64 {
	lease := a.j.Core.Lease.Read() // before the fences
	if f.j.Unfenced(it) {
		return lease
	}
	return a.lease
}

func (a *Ask) countLed(out *outcome, src resident.Source, reason measure.Reason) {
	if out.err != nil || reason == measure.SoftTimeout {
		return // its load was counted as a miss
	}
	switch src {
	case resident.Local:
		a.j.View.Counts.Hit(false, measure.NotStale) // deliver counts the rest
	case resident.Remote:
		a.j.View.Counts.Inc(measure.HitsRemote)
	case resident.Load: // counted as a miss when the load began
	}
}

// apart reports whether the caller has a value to serve after its SoftTimeout. Then it must not
// make a step itself that could block it.
func (a *Ask) apart() bool {
	return a.j.Policy.SoftTimeout > 0 && !a.j.Opts.NoStale && a.bridges(a.j.Standing())
}
