package follow

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/invalidate"
)

type followerCounts struct {
	syncs, syncErrors, tailErrors         atomic.Int64
	records, gaps, bumps, damaged, lapses atomic.Int64
}

// Stats returns the follower's numbers.
func (w *Follower) Stats() invalidate.LogStats {
	n := &w.numbers
	s := invalidate.LogStats{
		LeaseAge: -1, LeaseLeft: w.leaseLeft(),
		Lapses: n.lapses.Load(), Gaps: n.gaps.Load(), Bumps: n.bumps.Load(), Damaged: n.damaged.Load(),
		Records: n.records.Load(), Syncs: n.syncs.Load(), Pending: w.pending.Load(),
		SyncErrors: n.syncErrors.Load(), TailErrors: n.tailErrors.Load(),
		Epoch: w.fences.Cursor().Scope.Epoch(),
	}
	if at, ok := w.lease.Confirmed(); ok {
		s.LeaseAge = time.Duration(w.now() - at)
	}
	s.PendingAge = w.age()
	return s
}

// record counts and logs the findings of a page.
func (w *Follower) record(found fence.Findings) {
	n := &w.numbers
	n.records.Add(int64(found.Records))
	n.gaps.Add(int64(found.Gaps))
	n.bumps.Add(int64(found.Bumps))
	n.damaged.Add(int64(found.Damaged))
	log := w.cfg.Logger
	if found.Gaps > 0 {
		log.Warn("invalidate: records are missing; what they may have covered is given up", "gaps", found.Gaps)
	}
	if found.Bumps > 0 && w.caughtUp.Load() {
		log.Warn("invalidate: the log began a new epoch; everything older is given up", "epoch", w.fences.Cursor().Scope.Epoch())
	}
	if found.Damaged > 0 {
		log.Error("invalidate: records do not decode; everything older is given up", "records", found.Damaged)
	}
	// Records read while catching up are as old as this process's absence.
	if w.cfg.OnLag != nil && found.Oldest > 0 && w.caughtUp.Load() {
		lag := w.now()/1000 + w.offset.Load() - found.Oldest
		w.cfg.OnLag(time.Duration(max(lag, 0)) * time.Microsecond)
	}
}

var errSlept = errors.New("this process did not run in time to renew it")

// noticeLapse counts the end of the lease, once.
func (w *Follower) noticeLapse() {
	at, ok := w.lease.Confirmed()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lapsed || (ok && w.lease.Covers(w.lease.Read(), w.now())) || (!ok && w.lastErr == nil) {
		return
	}
	w.lapsed = true
	w.numbers.lapses.Add(1)
	why := w.lastErr
	if why == nil {
		why = errSlept
	}
	if !ok {
		w.cfg.Logger.Warn("invalidate: the log has not answered yet; nothing cached is served until it does", "error", why)
		return
	}
	w.cfg.Logger.Warn("invalidate: the lease has run out; what is cached is not served until the log answers",
		"age", time.Duration(w.now()-at), "error", why)
}

// leaseLeft returns the time until the lease runs out if it is not renewed.
func (w *Follower) leaseLeft() time.Duration {
	at, ok := w.lease.Confirmed()
	if !ok {
		return 0
	}
	return max(0, w.bound+1-time.Duration(w.now()-at))
}

// noticeRenewal logs that an expired lease is valid again.
func (w *Follower) noticeRenewal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lapsed {
		w.lapsed = false
		w.cfg.Logger.Info("invalidate: the lease is good again")
	}
}

// noticeBound keeps the widest bound of the fleet; Settle waits that long.
func (w *Follower) noticeBound(b time.Duration) {
	old := time.Duration(w.widest.Swap(int64(max(b, time.Duration(w.widest.Load())))))
	if b > w.bound && b > old {
		w.cfg.Logger.Warn("invalidate: another process uses a wider bound; Settle waits for it", "bound", w.bound, "widest", b)
	}
}
