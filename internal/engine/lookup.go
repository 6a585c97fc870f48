package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/filling"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/internal/store"
)

// Read is the whole look-up behind every reading method. It tries this process first, and then
// flights until one gives an outcome that the caller may take. With found false, the caller
// knows that this process has no value.
func (a *Ask) Read(ctx context.Context, k Asked, found bool) (Answer, error) {
	if found {
		if r, ok, err := a.fromLocal(ctx, k.Same, nil); ok {
			return r, err
		}
	}
	if err := a.over(ctx, k); err != nil {
		return Answer{}, err
	}
	var p patience
	defer p.stop()
	for tries := 0; ; tries++ {
		// Callers that could not take their outcome share the next flight, for at most
		// maxReloads tries. Then the caller leads its own flight, whose outcome it always takes.
		f, led, err := a.join(ctx, k, a.j.Policy.Off || tries > maxReloads)
		if err != nil {
			return Answer{}, a.fail(k, err)
		}
		out := a.fly(ctx, f, led, &p)
		if out.panicked != nil {
			panic(out.panicked)
		}
		if led || a.accepts(f, out) {
			return a.deliver(ctx, f, out, led)
		}
	}
}

// fly leads the flight or follows it, and waits for it.
func (a *Ask) fly(ctx context.Context, f *flight, led bool, p *patience) *outcome {
	if led {
		if out := a.begun(ctx, f); out != nil {
			return out
		}
	} else {
		a.follow(ctx, f)
	}
	defer a.leave(ctx, f)
	return a.wait(ctx, f, p)
}

// begun leads the flight. If the caller's context has ended by then, it returns the caller's
// outcome. In that case the caller has left the flight before the party checks whether a caller
// waits.
//
//go:noinline
func (a *Ask) begun(ctx context.Context, f *flight) *outcome {
	stays := false
	defer func() {
		if !stays {
			a.leave(ctx, f)
		}
	}()
	one := [1]run{{f: f}}
	rest := lead(ctx, one[:], a.apart())
	if rest == nil {
		stays = true
		return nil
	}
	if err := ctx.Err(); err != nil {
		stays = true
		a.leave(ctx, f)
		rest.launch()
		return &outcome{err: err}
	}
	rest.launch()
	stays = true
	return nil
}

// follow counts a caller that joins a flight, and lends it the turn of the caller's load.
func (a *Ask) follow(ctx context.Context, f *flight) {
	a.j.View.Counts.Inc(measure.Merges)
	if filling.Loading.Load() > 0 && filling.Running(ctx) != nil {
		f.lent.Open()
	}
}

// fromLocal serves what this process holds: a fresh value, or a stale one with a background
// refresh. It adds the refresh to old, or starts it if old is nil.
func (a *Ask) fromLocal(ctx context.Context, same func(*entry.Entry) bool, old *refreshes) (r Answer, ok bool, err error) {
	if a.j.Opts.Anew || a.j.Opts.SkipLocal || a.j.Policy.Off {
		return r, false, nil
	}
	now := a.called // a promise is counted from it, and no entry is judged by more
	it, _ := a.j.View.Find(a.j.Addr, same, now)
	if it != nil && it.Ended.Load() != 0 {
		now = max(now, a.j.Core.Now()) // it expired, perhaps after a Moment
	}
	if it == nil || !a.j.Core.Young(it.LoadedAt, it.ReadAt(), a.lease, now, a.j.Opts.MaxAge) {
		return r, false, nil
	}
	reason := measure.NotStale
	switch state := it.Freshness(now); {
	case state == entry.Fresh:
		if it.Due(now, a.j.Policy) {
			refreshIn(ctx, &a.j, it, old)
		}
	case state == entry.Dead || a.j.Opts.NoStale:
		return r, false, nil
	case state == entry.Stale && it.TrustUntil >= it.FreshUntil(): // after LocalTTL, ask the remote tier
		reason = measure.Revalidating
		refreshIn(ctx, &a.j, it, old)
	case it.Spared(now):
		reason = measure.FailedLoad
	default:
		return r, false, nil
	}
	it.CheckUnchanged()
	if a.quiet = !measure.Chosen(a.j.View.Counts.Hit(it.Err != nil, reason), measure.Sampled-1); !a.quiet {
		a.sample = true
	}
	if reason != measure.NotStale {
		a.j.Core.Seen.Staleness(a.j.View.Counts, now-it.FreshUntil())
	}
	a.j.View.Inherit(ctx, it, a.lease)
	if a.j.Policy.Audit > 0 && !a.past {
		auditHit(ctx, &a.j, it, entry.Local, a.j.Policy.Audit)
	}
	return Answer{it, entry.Local, reason != measure.NotStale, now}, true, it.Err
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
	err := ctx.Err()
	if err == nil {
		return nil
	}
	a.own(k)
	a.j.DependOn(ctx)
	return a.j.Fail(err)
}

// peekRemote returns a value of the remote tier that may be served, or nil. It reports whether the
// remote tier answered.
func peekRemote(ctx context.Context, j *store.Job, k Asked) (it *entry.Entry, asked bool) {
	if j.Far() == nil {
		return nil, false
	}
	j.Entry = k.Blank()
	f, err := j.GetCell(ctx, new(scope.Deadline))
	if err != nil {
		return nil, false
	}
	if f.Verdict != store.Usable || f.It.Freshness(j.Core.Now()) < entry.Stale {
		return nil, true
	}
	j.Put(f.It)
	j.View.Counts.Inc(measure.HitsRemote)
	return f.It, true
}

// Peek returns an entry that may be served without a load, or nil. The job's key is spelled.
func Peek(ctx context.Context, j *store.Job, k Asked) *entry.Entry {
	if j.Policy.Off {
		j.DependOn(ctx)
		return nil
	}
	now := j.Core.Confirm(ctx, j.Opts.Within(), j.Core.Now())
	lease := j.Core.Lease.Read() // before find and peekRemote look at the fences
	it, _ := j.View.Find(j.Addr, k.Same, now)
	switch {
	case it == nil || it.Freshness(now) < entry.Stale:
		it, _ = peekRemote(ctx, j, k)
	case it.Freshness(now) == entry.Untrusted:
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
