package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/measure"
)

// Note says what a local hit must report. 0: nothing. noted: an event. From timed on: the hit is
// in the sample, and the note minus timed is the time at which the hit read the clock.
type Note int64

const (
	noted Note = iota + 1
	timed
)

// Told finishes a Get that is a noted hit: it reports the hit. A hit as of an earlier Moment is not
// audited.
//
//go:noinline
func (v *View) Told(ctx context.Context, it *entry.Entry, n Note, present bool) {
	t, end := v.t, measure.EndedLocal
	now := t.now()
	switch {
	case it.Err != nil:
		end = measure.EndedNegative
	case now >= it.FreshUntil():
		end = measure.EndedStale
	}
	if present {
		v.audit(ctx, it)
	}
	t.seen.Event(ctx, v.counts, "cache.hit", end)
	if n >= timed {
		t.seen.Waited(ctx, v.counts, now-int64(n-timed), end, true)
	}
}

// Report reports a read that was more than a plain hit.
func (a *Ask) Report(ctx context.Context, r *Answer, err error) {
	if a.j.op == "get" && (!a.quiet || a.j.t.notable.Load() == 0) {
		a.tell(ctx, r, err)
	}
}

//go:noinline
func (a *Ask) tell(ctx context.Context, r *Answer, err error) {
	src, end, event := r.Src, measure.EndedLoad, "cache.hit"
	if src != entry.Local && src != entry.Remote {
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
		end = measure.EndedLocal + measure.Ending(src-entry.Local)
	}
	a.j.t.seen.Event(ctx, a.j.v.counts, event, end)
	if !a.quiet && a.j.t.seen.Waits(ctx) {
		a.j.t.seen.Waited(ctx, a.j.v.counts, a.j.t.now()-a.since, end, a.sample)
	}
}
