package engine

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// maxOnce bounds the payload of a value that the log stores. A larger one would hold up the log, on
// which leases depend.
const maxOnce = 64 << 10

// once claims the cell, writes the record and fills the cell in one step, if the cell is on the log's
// server. It reports false if the three steps have to be made one by one. They may follow a failed try:
// their own claim and record replace what is left of it.
//
// The frame has the position of the key's own record. It is stored only if that record directly
// follows what this process had applied. Otherwise the step leaves the claim, and the fill follows.
func (s *Setting) once(ctx context.Context, until time.Time) bool {
	j, far := &s.Job, s.Job.Far()
	if j.Core.CellNames == nil || !s.keep || far == nil || len(s.payload.Data) > maxOnce || far.Breaker() != "closed" {
		return false
	}
	s.claim = tier.Claim{Nonce: tier.NewNonce(), Lease: j.Core.Config.ClaimTTL}
	key := invalidate.Key(j.Full)
	as, how, err := j.Core.Follower.Store(ctx, until, key, s.storing)
	switch {
	case errors.Is(err, follow.ErrBusy):
		return false
	case err != nil || how == 0: // without an error, a wrapper of the log has dropped the cell
		far.GiveBack(ctx, j.Policy.RemoteTimeout, j.FullKey(), s.claim)
		return false
	}
	j.Core.Told(fence.Request{Scopes: []invalidate.Scope{key}})
	s.gone, s.written = true, true
	switch how {
	case invalidate.Claimed:
		s.claimed = true
	case invalidate.Filled:
		s.filled = true
		s.keepAs(as)
	}
	return true
}

// storing returns the cell of the value, as of a mark.
func (s *Setting) storing(as fence.Mark) (*invalidate.Storing, error) {
	j := &s.Job
	date(j, s.It)
	frame, ttl, err := s.freeze(as)
	return &invalidate.Storing{
		Cell:  j.Core.CellNames([]string{j.FullKey()})[0],
		Claim: tier.LeaseCell(s.claim.Nonce), Lease: s.claim.Lease,
		Frame: frame, TTL: ttl,
	}, err
}

// keepAs keeps the value in this process. Its own record is applied here, and perhaps later ones, so
// its positions say whether a fence covers it, as for a frame that another process has filled. The
// mark comes before that check.
func (s *Setting) keepAs(as fence.Mark) {
	j := &s.Job
	mark := j.Core.Fences.Capture()
	fresh, ok := j.Accepts(as, &s.It.Deps)
	if !ok { // an invalidation or another Set came last
		j.View.Counts.Inc(measure.FillLost)
		return
	}
	s.It.Date(mark)
	if fresh != fence.Forever {
		s.It.Expire(fresh)
	}
	j.View.Counts.Inc(measure.FillStored)
	j.Put(s.It, s.size)
}
