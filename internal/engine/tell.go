package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
)

// Told finishes a Get that is a noted hit: it reports the hit, and may audit it.
//
//go:noinline
func Told(ctx context.Context, v *resident.View, it *resident.Entry, n resident.Note) {
	t, end := v.Core, measure.EndedLocal
	now := t.Now()
	switch {
	case it.Err != nil:
		end = measure.EndedNegative
	case now >= it.FreshUntil():
		end = measure.EndedStale
	}
	sampled(ctx, v, it)
	t.Seen.Event(ctx, v.Counts, "cache.hit", end)
	if n >= resident.Timed {
		t.Seen.Waited(ctx, v.Counts, now-int64(n-resident.Timed), end, true)
	}
}

// sampled offers a noted local hit for an audit. The share of noted hits is known.
func sampled(ctx context.Context, v *resident.View, it *resident.Entry) {
	p := v.InForce()
	if p.Audit == 0 {
		return
	}
	var j resident.Job
	j.Start(v, "audit", nil, &resident.AnyAge)
	j.Addr = v.Kind.Slot(it)
	v.Core.Sampled(ctx, j, it, resident.Local, p.Audit*float64(v.Core.Notable.Load()&p.Sample+1))
}

// Found finishes a Fetch that is a hit of the fast path as of now. No audit is in force.
func Found(ctx context.Context, v *resident.View, it *resident.Entry, lease int64, n resident.Note, now int64) Answer {
	v.Inherit(ctx, it, lease)
	if n != 0 {
		Told(ctx, v, it, n)
	}
	return Answer{it, resident.Local, it.Freshness(now) != resident.Fresh, now}
}

// Report reports a read that was more than a plain hit.
func (a *Ask) Report(ctx context.Context, r *Answer, err error) {
	if a.j.Op == "get" && (!a.quiet || a.j.Core.Notable.Load() == 0) {
		a.tell(ctx, r, err)
	}
}

//go:noinline
func (a *Ask) tell(ctx context.Context, r *Answer, err error) {
	src, end, event := r.Src, measure.EndedLoad, "cache.hit"
	if src != resident.Local && src != resident.Remote {
		event = "cache.miss"
	}
	switch {
	case r.It != nil && r.It.Err != nil:
		end = measure.EndedNegative
	case err != nil:
		end = measure.EndedError
	case r.Stale:
		end = measure.EndedStale
	case src != 0:
		end = measure.EndedLocal + measure.Ending(src-resident.Local)
	}
	a.j.Core.Seen.Event(ctx, a.j.View.Counts, event, end)
	if !a.quiet && a.j.Core.Seen.Waits(ctx) {
		a.j.Core.Seen.Waited(ctx, a.j.View.Counts, a.j.Core.Now()-a.since, end, a.sample)
	}
}
