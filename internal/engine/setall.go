package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// maxSets bounds the settings that take their steps together. All cells are claimed before the first
// is filled, and the claims must not end meanwhile.
const maxSets = 10_000

// SetAll invalidates the old values everywhere and stores the new values that are kept. There is
// at least one setting. If the log keeps some waiting for as long as they may, the next ones do not wait.
func SetAll(ctx context.Context, sets []Setting) {
	var until time.Time
	f, written := sets[0].Job.Core.Follower, true
	for some := range slices.Chunk(sets, maxSets) {
		if f != nil && written {
			until = f.Until() // for all records
		}
		setTogether(ctx, some, until)
		written = slices.ContainsFunc(some, func(s Setting) bool { return s.written })
	}
}

// setTogether is SetAll for settings that take their steps together.
func setTogether(ctx context.Context, sets []Setting, until time.Time) {
	if !sets[0].alone() { // else replace stores all fences
		if len(sets) > 1 || !sets[0].once(ctx, until) {
			seizeAll(ctx, sets)
		}
		// A claimed cell must stay; the others must be removed. So both kinds together take two
		// records.
		spreadAll(ctx, sets, true, until)
		spreadAll(ctx, sets, false, until)
		fillAll(ctx, sets)
	}
	for i := range sets {
		sets[i].here()
	}
}

// Alone is SetAll for one setting, if only this process can have its key. Otherwise it reports false
// and does nothing. The setting may be on the caller's stack.
func (s *Setting) Alone(ctx context.Context) bool {
	if !s.alone() {
		return false
	}
	s.here()
	return true
}

func (s *Setting) alone() bool { return s.Job.View.Far == nil && s.Job.Core.Follower == nil }

// here is the last step, in this process.
func (s *Setting) here() {
	if !s.claimed && !s.filled {
		s.err = errors.Join(s.err, replace(&s.Job, s.It, s.size, s.keep))
	}
	if s.alone() {
		s.Job.Core.Told(fence.Request{Scopes: []invalidate.Scope{invalidate.Key(s.Job.Full)}})
	}
	if s.Job.Opts.Skip&resident.SkipLocal != 0 {
		s.Job.Core.Local.Delete(s.Job.Addr) // only to give the memory back
	}
}

// seizeAll claims the cells of the values that are kept, over a value or another process's
// claim. It comes before the record: an invalidation from then on removes the claim, and the
// fill is refused. In the other order, a Set could fill after a removal whose record every
// process forgets one day.
func seizeAll(ctx context.Context, sets []Setting) {
	far := sets[0].Job.Far()
	var waiting []*Setting
	for i := range sets {
		if s := &sets[i]; s.keep && far != nil {
			waiting = append(waiting, s)
		}
	}
	for try := 0; try < maxRefusals && len(waiting) > 0; try++ {
		keys, claims := make([]string, len(waiting)), make([]tier.Claim, len(waiting))
		for i, s := range waiting {
			// A nonce of its own for each try: the last one's claim may be given back.
			s.claim.Nonce, s.claim.Lease = tier.NewNonce(), s.Job.Core.Config.ClaimTTL
			keys[i], claims[i] = s.Job.FullKey(), s.claim
		}
		got, err := far.ClaimMany(ctx, sets[0].Job.Policy.RemoteTimeout, keys, claims)
		var refused []*Setting
		for i, s := range waiting {
			switch {
			case got[i].Granted:
				s.claimed, s.gone = true, true
			case len(got[i].Cell) > tier.NonceSize:
				s.claim.Seen = tier.Nonce(got[i].Cell[1:])
				refused = append(refused, s)
			case err != nil: // got may be empty
				s.err = resident.Unreached(err)
			default:
				s.Job.View.Counts.Inc(measure.FillLost)
			}
		}
		waiting = refused
	}
	for _, s := range waiting {
		s.Job.View.Counts.Inc(measure.FillLost)
	}
}

// spreadAll writes the record of the keys whose cells are gone, or of the other keys.
func spreadAll(ctx context.Context, sets []Setting, gone bool, until time.Time) {
	r := fence.Request{Removed: gone || sets[0].Job.View.Far == nil, Until: until}
	for i := range sets {
		if s := &sets[i]; s.gone == gone && !s.written {
			r.Scopes = append(r.Scopes, invalidate.Key(s.Job.Full))
		}
	}
	if len(r.Scopes) == 0 {
		return
	}
	err := sets[0].Job.Core.Spread(ctx, sets[0].Job.Policy.RemoteTimeout, r)
	failed := resident.FailedKeys(err)
	for i := range sets {
		if s := &sets[i]; s.gone == gone {
			if s.written = !failed(s.Job.FullKey()); !s.written {
				s.err = errors.Join(err, s.err)
			}
		}
	}
}

// fillAll fills the claimed cells after the record is written. If a claim is gone, an
// invalidation or another Set came last, and this process does not keep the value. If the record
// failed, the claims are given back. Then other processes need not wait for their leases to
// end. It does not use the caller's context, because the records are written.
func fillAll(ctx context.Context, sets []Setting) {
	var keys []string
	var fills []tier.Fill
	var of []*Setting
	for i := range sets {
		s := &sets[i]
		if !s.claimed {
			continue
		}
		f := tier.Fill{Nonce: s.claim.Nonce}
		if s.written {
			var err error
			if f.Cell, f.TTL, err = s.freeze(date(&s.Job, s.It)); err != nil {
				s.err, s.written, s.keep, f.Cell = err, false, false, nil
			}
		}
		keys, fills, of = append(keys, s.Job.FullKey()), append(fills, f), append(of, s)
	}
	if len(of) == 0 {
		return
	}
	ok, err := sets[0].Job.Far().FillMany(context.WithoutCancel(ctx), sets[0].Job.Policy.RemoteTimeout, keys, fills)
	for i, s := range of {
		switch {
		case !s.written:
			s.claimed = false // then setAll replaces it here
		case ok[i]:
			s.Job.View.Counts.Inc(measure.FillStored)
			s.Job.Put(s.It, s.size)
		case err != nil:
			s.Job.View.Counts.Inc(measure.FillFailed)
			s.err = resident.Unreached(err)
			s.Job.Put(s.It, s.size)
		default: // an invalidation or another Set came last
			s.Job.View.Counts.Inc(measure.FillLost)
		}
	}
}
