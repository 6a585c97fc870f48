package engine

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/tier"
)

// begin begins a look-up: the first one, or the next one after an overtaken load.
func (r *run) begin() {
	r.nap, r.refusals = time.Millisecond, 0
	if r.since = r.f.begun; r.tries > 0 {
		r.since = r.f.j.Core.Now()
	}
	if r.f.j.Policy.Off {
		r.load()
		return
	}
	// Another flight may have ended between the caller's look-up and its Join. Or a Set overtook
	// the load and left a value for this read.
	if it, reason := r.f.here(); it != nil {
		r.end(outcome{it: it, src: resident.Local, stale: reason})
		return
	}
	r.next = toLook
	switch {
	case r.f.j.Far() == nil:
		r.load()
	case r.cut: // a read spends at most one deadline on the remote tier
		r.cutOff()
	}
}

// load makes LOAD the next step, if there is a loader.
func (r *run) load() {
	r.next = toLoad
	if !r.f.j.CanLoad() {
		r.end(outcome{err: fault.ErrMiss})
	}
}

// abandon ends a run that no caller waits for.
func (r *run) abandon(ctx context.Context) {
	if r.next >= toFill {
		return
	}
	err := ctx.Err()
	if err == nil && !r.f.Wanted() {
		err = context.Canceled
	}
	switch {
	case err == nil:
	case r.claimed:
		r.next, r.fill, r.keep, r.out, r.again = toFill, tier.Fill{}, nil, outcome{err: err}, false
	default:
		r.end(outcome{err: err})
	}
}

// cutOff makes the run continue without the remote tier: with the local entry, or by a load.
func (r *run) cutOff() {
	r.cut = true
	if !r.fallback() {
		r.load()
	}
}

// decide chooses the run's next step after a frame.
func (r *run) decide(f resident.Frame) {
	r.frame = f
	switch {
	case f.Verdict == resident.Usable && r.serve(f.It):
	case r.fallback():
	case !r.f.j.CanLoad():
		r.end(outcome{err: fault.ErrMiss})
	case f.Claimed && f.Nonce == r.claim.Nonce && !f.Nonce.IsZero():
		r.claimed, r.next = true, toLoad // claimed by this run; an earlier reply was wrong
	case f.Verdict == resident.Leased && !r.over():
		r.await()
	default:
		r.next = toClaim
	}
}

// serve ends a look-up with the remote tier's value, if it may be served. Otherwise it keeps the
// value for a failed load.
func (r *run) serve(it *resident.Entry) bool {
	f, state := r.f, it.Freshness(r.f.j.Core.Now())
	if r.spare = it; state <= resident.Stale {
		here := f.j.Standing()
		r.far = here == nil || it.LoadedAt > here.LoadedAt+int64(time.Millisecond)
	}
	if it.LoadedAt < f.j.MinLoaded || f.j.Opts.Anew {
		return false
	}
	if state == resident.Dead { // kept for the load only
		return false
	}
	if old := f.j.Refreshing; old != nil {
		if state < resident.Untrusted || it.LoadedAt <= old.LoadedAt+int64(time.Millisecond) {
			return false // the refresh must replace it
		}
		if !it.Remembered() {
			f.j.View.Counts.Inc(measure.RefreshAdopted)
		}
	}
	out := outcome{it: it, src: resident.Remote}
	if it.Remembered() && state >= resident.Untrusted { // as if that load had failed here
		if out.old = f.standIn(nil); out.old != nil {
			if it.LoadedAt <= out.old.LoadedAt {
				return false
			}
			out.old.LoadFailed(f.j.Core.Now(), f.j.Policy.Throttle)
		}
	}
	f.j.Put(it, r.frame.Size)
	switch {
	case f.j.Refreshing != nil:
	case state >= resident.Untrusted:
		if out.old == nil && it.Due(f.j.Core.Now(), f.j.Policy) {
			r.then = it
		}
	case state == resident.Stale && !f.j.Opts.NoStale:
		out.stale, r.then = measure.Revalidating, it
	default:
		return false
	}
	r.end(out)
	return true
}

// fallback ends a look-up with the local entry, when the remote tier had no answer. That entry is
// stale, or it is fresh and the remote tier is out of reach.
func (r *run) fallback() bool {
	f := r.f
	if f.j.Refreshing != nil || f.j.Opts.Anew || f.j.Opts.Skip&resident.SkipLocal != 0 {
		return false
	}
	it, now := f.j.Find()
	if it == nil || it.LoadedAt < f.j.MinLoaded {
		return false
	}
	out := outcome{it: it, src: resident.Local}
	switch it.Freshness(now) {
	case resident.Fresh, resident.Untrusted:
		if !r.cut {
			return false
		}
	case resident.Stale:
		if f.j.Opts.NoStale {
			return false
		}
		out.stale, r.then = measure.Revalidating, it
	default:
		return false
	}
	r.end(out)
	return true
}

// claim asks for the right to load. Over a value it asks for a refresh claim: others can
// still serve the value.
func (p *party) claim() {
	f := p.runs[0].f
	claims := make([]tier.Claim, len(p.runs))
	for i := range p.runs {
		r := &p.runs[i]
		r.claim = tier.Claim{
			Seen: r.frame.Nonce, Nonce: r.newNonce(), Lease: f.j.Core.Config.ClaimTTL,
			Refresh: r.frame.Verdict == resident.Usable && !r.force,
		}
		claims[i] = r.claim
	}
	mark := f.j.Core.Fences.Capture()
	got, err := f.j.View.Counts.Far.ClaimMany(p, f.j.Policy.RemoteTimeout, texts(p.runs), claims)
	for i := range p.runs { // first: the steps below run the user's Size, which may panic
		if got[i].Granted {
			p.runs[i].claimed, p.runs[i].next = true, toLoad
		}
	}
	for i := range p.runs {
		switch {
		case p.runs[i].claimed:
		case err != nil:
			p.runs[i].cutOff()
		default:
			p.runs[i].refused(p, got[i].Cell, mark)
		}
	}
}

// refused takes the frame that blocks the run's claim, if it is known.
func (r *run) refused(ctx context.Context, cell []byte, mark fence.Mark) {
	switch {
	case len(cell) > 0:
		f, err := r.f.j.Assess(ctx, cell, mark)
		if r.refusals++; err != nil || r.refusals == maxRefusals {
			r.cutOff()
			return
		}
		r.decide(f)
	case r.claim.Refresh && r.over():
		r.force = true // once more
	default:
		r.await()
	}
}
