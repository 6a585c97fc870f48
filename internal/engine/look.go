package engine

import (
	"context"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/tier"
)

// look asks the remote tier for the runs' cells and judges them. Without a lease it does not
// ask, because it could not judge the answer.
func look(ctx context.Context, runs []run, d *scope.Deadline) {
	f := runs[0].f
	if len(runs) == 1 && runs[0].claimsAbsent() {
		runs[0].lookAndClaim(ctx, d)
		return
	}
	if len(runs) == 1 {
		shown, err := f.j.getCell(ctx, d)
		runs[0].shown(ctx, shown, err)
		return
	}
	var cells [][]byte
	var mark fence.Mark
	err := errUnconfirmed
	if f.j.canJudge(ctx) {
		mark = f.j.t.fences.Capture()
		cells, err = f.j.v.counts.Far.GetMany(ctx, f.j.p.RemoteTimeout, texts(runs))
	}
	for i := range runs {
		var shown frame
		why := err
		if i < len(cells) && (err == nil || cells[i] != nil) {
			shown, why = runs[i].f.j.assess(ctx, cells[i], mark)
		}
		runs[i].shown(ctx, shown, why)
	}
}

// claimsAbsent reports whether the run needs the claim if there is no cell, and probably there is
// none. It can load, and this process has nothing that could be served instead. Later looks of a
// run wait for another process.
func (r *run) claimsAbsent() bool {
	j := &r.f.j
	return j.canLoad() && j.v.counts.Far.Looks() && j.refreshing == nil && r.waits.n == 0 && j.standing() == nil
}

// lookAndClaim is look for a run that needs the claim if there is no cell.
func (r *run) lookAndClaim(ctx context.Context, d *scope.Deadline) {
	j := &r.f.j
	if !j.canJudge(ctx) {
		r.shown(ctx, frame{}, errUnconfirmed)
		return
	}
	r.claim = tier.Claim{Nonce: r.newNonce(), Lease: j.t.cfg.ClaimTTL}
	mark := j.t.fences.Capture() // before the fetch, as in getCell
	got, err := j.v.counts.Far.Look(ctx, d, j.p.RemoteTimeout, j.FullKey(), r.claim)
	if err == nil && got.Granted {
		r.claimed, r.next = true, toLoad
		return
	}
	var f frame
	if err == nil {
		f, err = j.assess(ctx, got.Cell, mark)
	}
	r.shown(ctx, f, err)
}

func texts(runs []run) []string {
	texts := make([]string, len(runs))
	for i := range runs {
		texts[i] = runs[i].f.j.FullKey()
	}
	return texts
}

func (j *Job) getCell(ctx context.Context, d *scope.Deadline) (frame, error) {
	if !j.canJudge(ctx) {
		return frame{}, errUnconfirmed
	}
	mark := j.t.fences.Capture() // before the fetch: an invalidation may overtake the reply
	raw, err := j.v.counts.Far.Get(ctx, d, j.p.RemoteTimeout, j.FullKey())
	if err != nil {
		return frame{}, err
	}
	return j.assess(ctx, raw, mark)
}

// shown handles the remote tier's answer about the run's cell.
func (r *run) shown(ctx context.Context, f frame, err error) {
	switch {
	case err == nil:
		r.decide(f)
	case remote.Left(err) || ctx.Err() != nil:
		// A caller that left says nothing about the tier. Its deadline may be over before its
		// context says so. For the other callers, the next step is still to look.
	default:
		r.cutOff()
	}
}
