package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
)

// refreshes is what one call found to be refreshed in the background. Keys of LoadMany are
// refreshed together, in parties of at most MaxBatch. Each party takes one place of MaxRefreshes.
type refreshes []Ask

// refreshLater starts a background refresh of it, with the loader and options of j. It never
// blocks. It is not inlined, because a caller that waits should keep a small stack.
//
//go:noinline
func refreshLater(ctx context.Context, j *resident.Job, it *resident.Entry) {
	var one refreshes
	one.add(j, it)
	one.start(ctx)
}

// refreshIn adds the refresh to old, or starts it if old is nil.
func refreshIn(ctx context.Context, j *resident.Job, it *resident.Entry, old *refreshes) {
	if old == nil {
		refreshLater(ctx, j, it)
		return
	}
	old.add(j, it)
}

// refreshStale starts the refreshes of the runs that have ended with values to be refreshed. A
// refresh that began before its flight ended would find that flight, and leave the work to it.
func refreshStale(ctx context.Context, runs []run) {
	var old refreshes
	for i := range runs {
		if r := &runs[i]; r.next == ended && r.then != nil {
			old.add(&r.f.j, r.then)
		}
	}
	old.start(ctx)
}

// add adds the refresh of an entry, with the loader and options of j. It adds none if another was
// started a moment ago.
//
//go:noinline
func (rs *refreshes) add(j *resident.Job, it *resident.Entry) {
	now := j.Core.Now()
	if !j.CanLoad() || !it.StartTry(now, refreshPause) {
		return
	}
	a := Ask{called: now}
	if a.begin(j.View, "refresh", j.Addr, j.Loader, j.OfRefresh()) == nil {
		a.j.Entry, a.j.Used, a.j.Refreshing, a.j.Many = it, true, it, j.Many
		if a.j.Spell() != nil {
			return
		}
		*rs = append(*rs, a)
	}
}

// start starts the refreshes for which there is room.
func (rs refreshes) start(ctx context.Context) {
	if len(rs) == 0 {
		return
	}
	// A refresh is no part of the caller's load, and takes its own turn.
	ctx = resident.Outside(ctx)
	for len(rs) > 0 {
		n := 1
		if j := &rs[0].j; j.Many {
			n = min(len(rs), j.View.MaxBatch)
		}
		rs[:n].together(ctx)
		rs = rs[n:]
	}
}

// together starts one party for the refreshes.
func (rs refreshes) together(ctx context.Context) {
	j := &rs[0].j
	if !takeRefresh(j) {
		for range rs {
			j.View.Counts.Inc(measure.RefreshSkipped)
		}
		return
	}
	runs := make([]run, 0, len(rs))
	for i := range rs {
		a := &rs[i]
		f, led, err := a.join(ctx, Asked{}, false)
		if led {
			a.j.Refreshing.Pause(a.called, a.j.Policy.LoadTimeout)
			f.Pin()
			runs = append(runs, run{f: f})
		}
		if err == nil {
			f.Leave()
		}
	}
	if rest := lead(ctx, runs, true); rest == nil || !rest.launch() {
		returnRefresh(j)
	}
}
