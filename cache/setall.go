package cache

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// setAll tells everybody that the old values are untrue and puts those that are kept in their
// place. There is at least one.
func setAll[K comparable, V any](ctx context.Context, sets []setting[K, V]) {
	if sets[0].s.far != nil || sets[0].t.follower != nil { // else there are only fences, which replace stores
		seizeAll(ctx, sets)
		// A cell that was claimed must stay; one that was not is to be removed. So if there
		// are both, they take two records.
		var until time.Time
		if f := sets[0].t.follower; f != nil {
			until = f.Until() // for both
		}
		spreadAll(ctx, sets, true, until)
		spreadAll(ctx, sets, false, until)
		fillAll(ctx, sets)
	}
	for i := range sets {
		s := &sets[i]
		if !s.claimed {
			s.err = errors.Join(s.err, s.replace(s.it, s.size, s.keep))
		}
		if s.s.far == nil && s.t.follower == nil {
			s.t.told(follow.Request{Scopes: []invalidate.Scope{invalidate.Key(s.full)}})
		}
		if s.o.skipLocal {
			s.t.local.Delete(s.at) // only to give the memory back
		}
	}
}

// seizeAll takes the cells of the values that are kept, from whatever stands there: a value,
// or another's claim. It comes before the record, so that an invalidation from then on takes
// the claim away, and the fill is refused. Were it the other way round, a Set could fill behind
// a removal whose record no process remembers some day.
func seizeAll[K comparable, V any](ctx context.Context, sets []setting[K, V]) {
	far := sets[0].far()
	var waiting []*setting[K, V]
	for i := range sets {
		if s := &sets[i]; s.keep && far != nil {
			s.claim = tier.Claim{Nonce: tier.NewNonce(), Lease: s.t.cfg.ClaimTTL}
			waiting = append(waiting, s)
		}
	}
	for try := 0; try < maxRefusals && len(waiting) > 0; try++ {
		keys, claims := make([]string, len(waiting)), make([]tier.Claim, len(waiting))
		for i, s := range waiting {
			keys[i], claims[i] = s.FullKey(), s.claim
		}
		got, err := far.ClaimMany(ctx, sets[0].p.RemoteTimeout, keys, claims)
		var refused []*setting[K, V]
		for i, s := range waiting {
			switch {
			case got[i].Granted:
				s.claimed, s.gone = true, true
			case len(got[i].Cell) > tier.NonceSize:
				s.claim.Seen = tier.Nonce(got[i].Cell[1:])
				refused = append(refused, s)
			case err != nil: // there may be no answer
				s.err = unreached(err)
			default: // a hold; nothing is to be stored there
				s.gone = true
				s.v.counts.inc(fillNoStore)
			}
		}
		waiting = refused
	}
	for _, s := range waiting {
		s.v.counts.inc(fillLost)
	}
}

// spreadAll writes the record of the keys whose cells are gone, or of the others.
func spreadAll[K comparable, V any](ctx context.Context, sets []setting[K, V], gone bool, until time.Time) {
	r := follow.Request{Removed: gone || sets[0].s.far == nil, Until: until}
	for i := range sets {
		if s := &sets[i]; s.gone == gone {
			r.Scopes = append(r.Scopes, invalidate.Key(s.full))
		}
	}
	if len(r.Scopes) == 0 {
		return
	}
	err := sets[0].t.spread(ctx, sets[0].p.RemoteTimeout, r)
	for i := range sets {
		if s := &sets[i]; s.gone == gone {
			if s.written = !failedFor(err, s.FullKey()); !s.written {
				s.err = errors.Join(err, s.err)
			}
		}
	}
}

// fillAll fills the claimed cells, behind the record. When a claim was taken away meanwhile,
// an invalidation or another Set came last, and this process does not keep the value either.
// Without a record the claims are given back, so that others need not wait for their leases to lapse.
// The caller's context is not asked: the records are written.
func fillAll[K comparable, V any](ctx context.Context, sets []setting[K, V]) {
	var keys []string
	var fills []tier.Fill
	var of []*setting[K, V]
	for i := range sets {
		s := &sets[i]
		if !s.claimed {
			continue
		}
		f := tier.Fill{Nonce: s.claim.Nonce}
		if s.written {
			var err error
			if f.Cell, f.TTL, err = s.freeze(s.it, s.payload, f.Nonce, s.date(s.it)); err != nil {
				s.err, s.written, s.keep, f.Cell = err, false, false, nil
			}
		}
		keys, fills, of = append(keys, s.FullKey()), append(fills, f), append(of, s)
	}
	if len(of) == 0 {
		return
	}
	ok, err := sets[0].far().FillMany(context.WithoutCancel(ctx), sets[0].p.RemoteTimeout, keys, fills)
	for i, s := range of {
		switch {
		case !s.written:
			s.claimed = false // to be replaced here
		case ok[i]:
			s.v.counts.inc(fillStored)
			s.putSized(s.it, s.size)
		case err != nil:
			s.v.counts.inc(fillFailed)
			s.err = unreached(err)
			s.putSized(s.it, s.size)
		default: // an invalidation or another Set came last
			s.v.counts.inc(fillLost)
		}
	}
}
