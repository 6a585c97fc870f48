package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/tier"
)

// look asks the remote tier for the runs' cells and checks them. Without a lease it does not
// ask, because it could not check the answer.
func look(ctx context.Context, runs []run, d *calls.Deadline) {
	f := runs[0].f
	if len(runs) == 1 && runs[0].claimsAbsent() {
		runs[0].lookAndClaim(ctx, d)
		return
	}
	if len(runs) == 1 {
		shown, err := f.j.GetCell(ctx, d)
		runs[0].shown(ctx, shown, err)
		return
	}
	var cells [][]byte
	var mark fence.Mark
	err := resident.ErrUnconfirmed
	if f.j.CanCheckFrames(ctx) {
		mark = f.j.Core.Fences.Capture()
		cells, err = f.j.View.Counts.Far.GetMany(ctx, f.j.Policy.RemoteTimeout, texts(runs))
	}
	for i := range runs {
		var shown resident.Frame
		why := err
		if i < len(cells) && (err == nil || cells[i] != nil) {
			shown, why = runs[i].f.j.Assess(ctx, cells[i], mark)
		}
		runs[i].shown(ctx, shown, why)
	}
}

// claimsAbsent reports whether the run needs the claim if there is no cell, and probably there is
// none. It can load, and this process has nothing that could be served instead. Later looks of a
// run wait for another process.
func (r *run) claimsAbsent() bool {
	j := &r.f.j
	return j.CanLoad() && j.View.Counts.Far.Looks() && j.Refreshing == nil && r.waits.n == 0 && j.Standing() == nil
}

// lookAndClaim is look for a run that needs the claim if there is no cell.
func (r *run) lookAndClaim(ctx context.Context, d *calls.Deadline) {
	j := &r.f.j
	if !j.CanCheckFrames(ctx) {
		r.shown(ctx, resident.Frame{}, resident.ErrUnconfirmed)
		return
	}
	r.claim = tier.Claim{Nonce: r.newNonce(), Lease: j.Core.Config.ClaimTTL}
	mark := j.Core.Fences.Capture() // before the fetch, as in Job.GetCell
	got, err := j.View.Counts.Far.Look(ctx, d, j.Policy.RemoteTimeout, j.FullKey(), r.claim)
	if err == nil && got.Granted {
		r.claimed, r.next = true, toLoad
		return
	}
	var f resident.Frame
	if err == nil {
		f, err = j.Assess(ctx, got.Cell, mark)
	}
	r.shown(ctx, f, err)
}

// shown handles the remote tier's answer about the run's cell.
func (r *run) shown(ctx context.Context, f resident.Frame, err error) {
	switch {
	case err == nil:
		r.decide(f)
	case remote.Left(err) || ctx.Err() != nil:
		// A caller that gave up is not a failure of the tier. Its deadline may be over before its
		// context says so. For the other callers, the next step is still to look.
	default:
		r.cutOff()
	}
}
