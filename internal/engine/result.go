package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// keepOrDrop decides what happens to a load's result. The run fills its claim or gives it back, this
// process keeps the result or drops it, and the flight ends or loads again. With late, the
// flight has ended or is about to.
func (r *run) keepOrDrop(ctx context.Context, a *attempt, late bool) {
	f := r.f
	r.next, r.fill, r.keep, r.again = toFill, tier.Fill{}, nil, false
	r.out = outcome{it: a.it, src: resident.Load, err: a.err, cause: a.cause, panicked: a.panicked, ofExpired: a.facts.OfExpired}
	switch {
	case a.panicked != nil:
		f.j.View.Counts.Inc(measure.LoadPanics)
	case a.err != nil:
		r.rememberError(ctx, a, late)
	case a.overtaken && !late && r.tries+r.waits.n < maxReloads && f.Wanted():
		r.again = true
		r.tries++
	case a.overtaken: // it may be older than an invalidation, so no tier gets it
		f.j.View.Counts.Inc(measure.Overtaken)
	default:
		if ttl := ttlOf(&f.j, a); ttl != 0 && admits(&f.j, a) {
			r.store(a, ttl)
		}
	}
}

// rememberError remembers a load error if the policy says so and there is no old value to serve in
// its place. Timeouts and cancellations are not remembered as failures of the source.
func (r *run) rememberError(ctx context.Context, a *attempt, late bool) {
	f, ttl := r.f, r.f.j.Policy.ErrorTTL
	if ttl == 0 || f.j.Policy.Off || late || ctx.Err() != nil || f.standIn(r.spare) != nil || notOfSource(a.err) {
		return
	}
	a.it = a.e
	a.it.LoadedHere(a.begun, a.took)
	a.it.Writable().Err = f.j.Stored(f.j.Core.Faults.Remembered(fault.CodeOf(a.err), fault.Remember(a.err, nil, fault.IsCoder)))
	f.j.SetTags(a.it, nil, &a.facts)
	if f.doubt(a, a.it); !a.overtaken && admits(&f.j, a) {
		r.store(a, ttl)
	}
}

// notOfSource reports whether an error is no failure of the source: the loader declined, or the error comes from this
// library, perhaps from another cache that the loader read.
func notOfSource(err error) bool {
	return slices.ContainsFunc([]error{fault.ErrDeclined, fault.ErrOverloaded, fault.ErrLoadTimeout, fault.ErrClosed, fault.ErrRecursive, fault.ErrGoexit}, func(own error) bool {
		return errors.Is(err, own)
	})
}

// neverFresh is the TTL of a value that is stored but never fresh.
const neverFresh = time.Duration(-1)

// ttlOf returns how long the loaded value is fresh, or neverFresh. 0: the value must not be stored.
func ttlOf(j *resident.Job, a *attempt) time.Duration {
	switch {
	case a.facts.NeverFresh:
		return neverFresh // admits decides whether it is stored
	case a.facts.TTL != 0:
		return a.facts.TTL
	case a.absent():
		return j.Policy.NegativeTTL
	case j.Opts.TTL != 0:
		return j.Opts.TTL
	}
	return j.Policy.TTL
}

// admits reports whether the loaded value may be stored, and counts the reason if not.
func admits(j *resident.Job, a *attempt) bool {
	why := measure.FillStored
	switch {
	case j.Policy.Off:
		return false
	case a.lagged:
		why = measure.FillReplicaLag
	case a.noStore():
		why = measure.FillNoStore
	case a.facts.BadTag:
		why = measure.FillTags
		j.View.WarnOfBadTag()
	case a.took < j.Policy.MinLoad:
		why = measure.FillNotAdmitted
	}
	if why != measure.FillStored {
		j.View.Counts.Inc(why)
	}
	return why == measure.FillStored
}

// store prepares the fills of both tiers. A value that does not encode is kept only in this
// process. A value that is too large for one tier is stored in neither.
func (r *run) store(a *attempt, ttl time.Duration) {
	f, it := r.f, a.it
	if it.Many() {
		f.j.View.Counts.Inc(measure.FillManyTags)
	}
	if m := a.facts.Fixed(f.j.Policy); a.empty {
		it.SetTerms(remote.NeverStale)
	} else {
		it.SetTerms(m)
	}
	it.SetLifetime(a.begun+int64(a.took), lifetimeOf(&f.j, it, max(ttl, 0)), &f.j.View.InForce().Usual)
	r.keep = it
	if !r.claimed {
		if size := f.j.SizeOf(it, 0); size > int64(f.j.Policy.MaxValueBytes) {
			f.j.View.Counts.Inc(measure.FillTooLarge)
			f.j.View.WarnOfSize(f.j.Policy.MaxValueBytes)
			r.drop()
		} else {
			r.size = size
		}
		return
	}
	payload, why := payloadOf(&f.j, it)
	r.size = f.j.SizeOf(it, payload.Plain)
	if why == measure.FillStored {
		cell, keep, err := f.j.Freeze(it, payload, r.claim.Nonce, a.mark)
		if err == nil {
			f.j.Core.Seen.ValueSize(f.j.View.Counts, measure.SizeOut, len(payload.Data))
			r.fill = tier.Fill{Cell: cell, TTL: keep}
			return
		}
		why = measure.FillFailed // its tags and codec were checked before
	}
	f.j.View.Counts.Inc(why)
	if why != measure.FillUnencodable {
		r.drop()
	}
}

// drop keeps the run's result in no tier. Its callers get it, and it is not fresh: the next read loads again.
func (r *run) drop() {
	r.keep.NeverFresh()
	r.keep = nil
}

// lifetimeOf returns an entry's lifetime under its terms and the policy.
func lifetimeOf(j *resident.Job, it *resident.Entry, ttl time.Duration) resident.Lifetime {
	l := resident.Lifetime{Soft: lifetimes.Spread(ttl, j.Policy.Jitter, j.Hash), Trust: policy.Forever}
	if j.Policy.LocalTTL > 0 {
		if j.View.Far == nil {
			l.Soft = min(l.Soft, j.Policy.LocalTTL)
		} else {
			l.Trust = j.Policy.LocalTTL
		}
	}
	if it.Err != nil {
		l.Hard = l.Soft
		return l
	}
	stale, hard := it.Said().Grace(j.Policy)
	l.Stale, l.Hard = stale, lifetimes.Add(l.Soft, hard)
	l.Ahead = lifetimes.RefreshWindow(it.LoadTime.Duration(), j.Policy.RefreshAhead)
	return l
}

// fill fills the claims of the party's runs or gives them back, in one call, and ends the
// flights. The remote tier comes first. If it refuses a fill, the claim was lost, perhaps to an
// invalidation, and this process does not keep the value.
func (p *party) fill() {
	sendFills(p, p.runs)
	for i := range p.runs {
		p.runs[i].finish()
	}
}

// sendFills sends the fills of the runs that hold a claim. It ignores the callers' contexts: the
// work is done and its result may be kept, and others wait for the claim to end. After an error
// the claim ends with its lease.
func sendFills(ctx context.Context, runs []run) {
	var keys []string
	var fills []tier.Fill
	for i := range runs {
		if r := &runs[i]; r.claimed {
			r.fill.Nonce = r.claim.Nonce
			keys, fills = append(keys, r.f.j.FullKey()), append(fills, r.fill)
			if last := &fills[len(fills)-1]; len(last.Cell) == 0 && r.leavesMark() {
				last.Cell, last.TTL = remote.EndMark(last.Nonce), remote.MarkStays
			}
		}
	}
	if len(keys) == 0 {
		return
	}
	f := runs[0].f
	ok, err := f.j.View.Counts.Far.FillMany(context.WithoutCancel(ctx), f.j.Policy.RemoteTimeout, keys, fills)
	n := 0
	for i := range runs {
		r := &runs[i]
		if !r.claimed {
			continue
		}
		r.claimed = false
		if len(r.fill.Cell) > 0 {
			r.filled(ok[n], err)
		}
		n++
	}
}

// filled counts a fill. A refused value is not kept.
func (r *run) filled(ok bool, err error) {
	switch {
	case ok:
		r.f.j.View.Counts.Inc(measure.FillStored)
	case err != nil:
		r.f.j.View.Counts.Inc(measure.FillFailed)
	default:
		r.f.j.View.Counts.Inc(measure.FillLost)
		r.drop()
	}
}

// finish keeps the run's result and ends its flight, or begins again.
func (r *run) finish() {
	if r.keep != nil {
		r.f.j.Put(r.keep, r.size)
	}
	switch {
	case r.again:
		if r.begin(); r.next != ended {
			r.f.j.View.Counts.Inc(measure.Reloads)
		}
	case r.out.err != nil:
		r.out.it, r.out.span, r.out.far = nil, r.span, r.far
		r.next = ended
		r.f.failed(r.out, r.spare)
	default:
		r.end(r.out)
	}
}

// payloadOf encodes an entry for the remote tier, or returns why it cannot be stored there.
func payloadOf(j *resident.Job, it *resident.Entry) (remote.Encoded, measure.Stat) {
	if it.Err != nil {
		e := remote.Encoded{Codec: j.View.Codec.ID()}
		e.Data = []byte(j.Core.Faults.Code(it.Err))
		return e, measure.FillStored
	}
	e, err := j.View.Encode(j.View.Value(it), j.Policy.MaxValueBytes)
	switch {
	case errors.Is(err, remote.ErrTooLarge):
		j.View.WarnOfSize(j.Policy.MaxValueBytes)
		return e, measure.FillTooLarge
	case err != nil:
		// Not the error's text, because encoders quote the value.
		j.Core.Log.Warn("cache: a value does not encode", "namespace", j.View.Space.Namespace,
			"type", fmt.Sprintf("%T", j.View.ValueOf(it)), "codec", j.View.Codec.ID())
		return e, measure.FillUnencodable
	}
	return e, measure.FillStored
}
