package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
)

// Read is the whole look-up behind every reading method. It tries this process first. The rest is a
// round of one key. With found false, the caller knows that this process has no value.
func (a *Ask) Read(ctx context.Context, k Asked, found bool) (r Answer, err error) {
	if found {
		if r, ok, err := a.fromLocal(ctx, k.Same, nil); ok {
			return r, err
		}
	}
	if err := a.over(ctx, k); err != nil {
		return r, err
	}
	var p patience
	defer p.stop()
	one := [1]*Ask{a}
	rounds(ctx, one[:], k, &p, func(_ int, got Answer, failed error) { r, err = got, failed })
	return r, err
}

// give hands the answer of the i-th ask to the caller.
type give func(i int, r Answer, err error)

// rounds joins or leads one flight for each ask, and waits for all of them. k is the key of an ask
// without an entry. Such an ask is the only one.
//
// Callers that could not take their outcome share the next flight, for at most maxReloads tries. Then
// each leads its own flight, whose outcome it always takes.
func rounds(ctx context.Context, asks []*Ask, k Asked, p *patience, give give) {
	defer leaveAll(ctx, asks) // also when Clone panics
	for tries, left := 0, true; left; tries++ {
		if joinAll(ctx, asks, k, tries > maxReloads, give) {
			leadAll(ctx, asks, k, give)
		}
		left = false
		var panicked error
		for i, a := range asks {
			if a.f == nil {
				continue
			}
			if !a.led && a.peeks() && a.peek(ctx, i, give) {
				continue
			}
			if out := a.wait(ctx, a.f, p); out.panicked != nil {
				panicked = out.panicked
			} else if !a.take(ctx, out, i, give) {
				left = true
			}
		}
		if panicked != nil {
			panic(panicked)
		}
		leaveAll(ctx, asks)
	}
}

// take gives the outcome of its flight to the caller, if the caller may take it.
func (a *Ask) take(ctx context.Context, out *outcome, i int, give give) bool {
	if !a.led && !a.accepts(a.f, out) {
		return false
	}
	a.done = true
	r, err := a.deliver(ctx, a.f, out, a.led)
	give(i, r, err)
	return true
}

func leaveAll(ctx context.Context, asks []*Ask) {
	for _, a := range asks {
		if a.f != nil {
			a.leave(ctx)
		}
	}
}

// joinAll joins or begins a flight for each ask without an answer. An ask that fails gets no flight.
// It reports whether the call leads a flight. It returns before the caller waits, and frees its stack.
//
//go:noinline
func joinAll(ctx context.Context, asks []*Ask, k Asked, force bool, give give) (leads bool) {
	for i, a := range asks {
		if a.done {
			continue
		}
		f, led, err := a.join(ctx, k, a.j.Policy.Off || force)
		if err != nil {
			a.done = true
			give(i, Answer{}, a.fail(k, err))
			continue
		}
		if a.f, a.led = f, led; led {
			leads = true
		} else {
			a.follow(ctx)
		}
	}
	return leads
}

// leadAll makes the first step of the flights that the call leads, and launches the party for the
// others. If the context has ended by then, it first ends the asks. Then they do not count when the
// party checks whether a caller waits. It returns before the caller waits, and frees its stack.
//
//go:noinline
func leadAll(ctx context.Context, asks []*Ask, k Asked, give give) {
	var one [1]run
	runs, apart := one[:0], false
	if len(asks) > 1 {
		runs = make([]run, 0, len(asks))
	}
	for _, a := range asks {
		if a.f != nil && a.led {
			runs, apart = runs[:len(runs)+1], apart || a.apart()
			runs[len(runs)-1].f = a.f
		}
	}
	rest := lead(ctx, runs, apart)
	if rest == nil {
		return
	}
	if err := fault.Ended(ctx); err != nil {
		for i, a := range asks {
			if a.f != nil && a.led && a.f.Ended() == nil {
				a.leave(ctx)
				a.done = true
				give(i, Answer{}, a.fail(k, err))
			}
		}
	}
	rest.launch()
}

// follow counts a caller that joins a flight, and lends it the turn of the caller's load.
func (a *Ask) follow(ctx context.Context) {
	a.j.View.Counts.Inc(measure.Merges)
	if resident.Loading.Load() == 0 {
		return
	}
	if in := resident.Running(ctx); in != nil {
		a.f.lent.Lend(in.Turn)
	}
}

// fromLocal serves what this process holds: a fresh value, or a stale one with a background
// refresh. It adds the refresh to old, or starts it if old is nil.
func (a *Ask) fromLocal(ctx context.Context, same func(*resident.Entry) bool, old *refreshes) (r Answer, ok bool, err error) {
	if a.j.Opts.Anew || a.j.Opts.Skip&resident.SkipLocal != 0 || a.j.Policy.Off {
		return r, false, nil
	}
	now := a.called // promises are counted from it, and every entry is checked as of it
	it, _ := a.j.View.Find(a.j.Addr, same, now)
	if it != nil && it.Ended.Load() != 0 {
		now = max(now, a.j.Core.Now()) // it expired, perhaps after the call began
	}
	if it == nil || !a.j.Core.Young(it.LoadedAt, it.ReadAt(), a.lease, now, a.j.Opts.MaxAge) {
		return r, false, nil
	}
	state := it.Freshness(now)
	reason := resident.WhyStale(it, state, now)
	switch {
	case state == resident.Fresh:
		if it.Due(now, a.j.Policy) {
			refreshIn(ctx, &a.j, it, old)
		}
	case reason == measure.NotStale || a.j.Opts.NoStale:
		return r, false, nil
	case reason == measure.Revalidating:
		refreshIn(ctx, &a.j, it, old)
	}
	it.CheckUnchanged()
	if a.quiet = !measure.Chosen(a.j.View.Counts.Hit(it.Err != nil, reason), measure.Sampled-1); !a.quiet {
		a.sample = true
	}
	if reason != measure.NotStale {
		a.j.Core.Seen.Staleness(a.j.View.Counts, now-it.FreshUntil())
	}
	a.j.View.Inherit(ctx, it, a.lease)
	if a.j.Policy.Audit > 0 {
		a.j.Core.Sampled(ctx, a.j, it, resident.Local, a.j.Policy.Audit)
	}
	return Answer{it, resident.Local, reason != measure.NotStale, now}, true, it.Err
}

// fail returns the error of a read that got no flight.
func (a *Ask) fail(k Asked, err error) error {
	a.own(k)
	return a.j.Fail(err)
}

// over returns the error of a read whose context has ended. The load under ctx still depends
// on the key. It is not inlined, because a caller that waits should keep a small stack.
//
//go:noinline
func (a *Ask) over(ctx context.Context, k Asked) error {
	err := fault.Ended(ctx)
	if err == nil {
		return nil
	}
	a.own(k)
	a.j.DependOn(ctx)
	return a.j.Fail(err)
}

// peekRemote returns a value of the remote tier that may be served, or nil. It reports whether the
// remote tier answered.
func peekRemote(ctx context.Context, j *resident.Job, k Asked) (it *resident.Entry, asked bool) {
	if j.Far() == nil {
		return nil, false
	}
	j.Entry = k.Blank()
	f, err := j.GetCell(ctx, new(calls.Deadline))
	if err != nil {
		return nil, false
	}
	if f.Verdict != resident.Usable || f.It.Freshness(j.Core.Now()) < resident.Stale {
		return nil, true
	}
	j.Put(f.It, f.Size)
	j.View.Counts.Inc(measure.HitsRemote)
	return f.It, true
}

// Peek returns an entry that may be served without a load, or nil. The job's key is spelled.
func Peek(ctx context.Context, j *resident.Job, k Asked) *resident.Entry {
	if j.Policy.Off {
		j.DependOn(ctx)
		return nil
	}
	now := j.Core.Confirm(ctx, j.Opts.Within(), j.Core.Now())
	lease := j.Core.Lease.Read() // before find and peekRemote look at the fences
	it, _ := j.View.Find(j.Addr, k.Same, now)
	switch {
	case it == nil || it.Freshness(now) < resident.Stale:
		it, _ = peekRemote(ctx, j, k)
	case it.Freshness(now) == resident.Untrusted:
		if got, asked := peekRemote(ctx, j, k); asked && (got == nil || !got.Remembered()) {
			it = got
		}
	}
	if it == nil {
		j.DependOn(ctx)
		return nil
	}
	j.View.Inherit(ctx, it, lease)
	return it
}
