package follow

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// atOnce is ready in the place of a timer whose time has come. With the race detector, Go 1.26 runs
// such timers of one testing/synctest bubble on several threads that share one context of the
// detector, which then aborts.
var atOnce <-chan struct{} = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// sync is the syncer's loop: it renews, catches up and appends, one round at a time. After a failed
// round it ignores callers until its backoff ends.
func (w *Follower) sync() {
	t, lapse := time.NewTimer(w.bound), time.NewTimer(w.bound)
	defer t.Stop()
	defer lapse.Stop()
	wake, due := w.wake, atOnce
	for {
		select {
		case <-w.stop:
			return
		case <-due:
		case <-wake:
		case <-w.heard:
		case <-lapse.C:
			w.noticeLapse()
			continue
		case <-t.C:
		}
		select {
		case w.turn <- struct{}{}:
		case <-w.stop:
			return
		}
		next, err := w.ownRound(w.ctx)
		<-w.turn
		due = nil
		t.Reset(next)
		lapse.Reset(w.leaseLeft())
		if wake = w.wake; err != nil {
			wake = nil
		}
	}
}

// ownRound is a round of the follower itself. It returns in any case.
func (w *Follower) ownRound(ctx context.Context) (next time.Duration, err error) {
	next, err = w.bound/4, errExited
	apart(func() { next, err = w.round(ctx, time.Time{}) })
	return next, err
}

// round makes one attempt and returns how long to wait before the next. With until, it ends by
// then. A round that until cut off is no failure of the log.
func (w *Follower) round(ctx context.Context, until time.Time) (next time.Duration, err error) {
	w.noticeLapse()
	w.mu.Lock()
	began := w.now()
	w.attempt.running, w.attempt.began = true, began
	w.mu.Unlock()
	err = errExited
	defer func() { next = w.endRound(ctx, until, began, err) }()
	return 0, w.try(ctx, until)
}

// endRound notes how a round ended, and returns how long to wait before the next.
func (w *Follower) endRound(ctx context.Context, until time.Time, began int64, err error) (next time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	took := time.Duration(w.now() - began)
	next = jitter(w.bound / 4)
	switch {
	case err == nil:
		w.answered()
		w.took = took
	case !until.IsZero() && !time.Now().Before(until):
		w.took = took
	default:
		w.lastErr = reason(ctx, w.lastErr, err)
		for _, o := range w.queue { // some came too late for this round
			o.fail(cmp.Or(o.err, w.lastErr)) // its own error names its keys
		}
		w.numbers.syncErrors.Add(1)
		next = w.retry.next()
		next = max(next-took, next/2) // so the follower calls a log that hangs as often as one that refuses
	}
	close(w.attempt.over)
	w.attempt = attempt{over: make(chan struct{})}
	return next
}

// answered notes that the log works. mu is held.
func (w *Follower) answered() {
	if w.lastErr != nil {
		w.lastErr = nil
		signal(w.resumed)
	}
	w.retry.reset()
}

// try sends what waits and catches up. Orders land when their cells are removed and their record is
// written and applied here.
func (w *Follower) try(ctx context.Context, until time.Time) (err error) {
	orders := w.takeOrders()
	s := w.takeStoring(orders)
	err = errExited
	defer func() {
		if s != nil {
			s.err = err
		}
		if err != nil {
			w.giveBack(ctx, orders, err)
		} else {
			w.settle(orders)
		}
	}()
	return w.exchange(ctx, orders, s, until)
}

// exchange appends what the orders cover, in as many records as needed, and reads until nothing is
// left. Only then does it extend the lease, as of the moment before the last question. It does not
// extend the lease while frames that were accepted before that moment are above the log's end.
func (w *Follower) exchange(ctx context.Context, orders []*order, s *storing, until time.Time) error {
	keys, scopes, cells := w.contents(orders, s)
	for reported := false; ; s = nil {
		var a invalidate.Append
		var gone []string
		n := min(len(cells), invalidate.MaxCells)
		gone, cells = cells[:n:n], cells[n:]
		if len(cells) == 0 { // all cells go first
			a.Keys, keys = logwire.Split(keys)
			a.Scopes, scopes = logwire.Split(scopes)
		}
		asked, noted := w.now(), w.fences.Ahead()
		w.events.send(&a)
		p, err := w.ask(ctx, w.fences.Cursor(), a, gone, s, until)
		if err != nil {
			w.events.sent(invalidate.Page{})
			return err
		}
		w.apply(p)
		w.fences.Confirm(a, p)
		w.events.sent(p)
		switch {
		case p.More || len(cells)+len(keys)+len(scopes) > 0:
		case !w.fences.Misses(noted):
			w.extend(asked)
			w.finish(orders)
			return nil
		case reported:
			return ErrBehind
		default:
			reported = true
			if err := w.report(ctx, noted, until); err != nil {
				return err
			}
		}
	}
}

// finish notes that the log has removed the cells of the orders.
func (w *Follower) finish(orders []*order) {
	for _, o := range orders {
		if w.logRemoves() {
			o.cells = nil
		}
	}
}

// ask makes one call to the log, under its own deadline: one hanging call must not make the
// lease lapse.
func (w *Follower) ask(ctx context.Context, at invalidate.Cursor, a invalidate.Append, cells []string, s *storing, until time.Time) (p invalidate.Page, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("invalidate: the log panicked (%T)", x)
		}
	}()
	ctx, cancel := context.WithDeadline(ctx, earlier(time.Now().Add(w.bound/4), until))
	defer cancel()
	w.numbers.syncs.Add(1)
	if a.Remove = cells; s != nil {
		at, a.Store = s.at, s.cell
	}
	p, err = w.log.Sync(ctx, at, a)
	if err != nil {
		return invalidate.Page{}, err
	}
	if s != nil {
		s.how = p.Stored
	}
	if p.Now > 0 {
		w.offset.Store(p.Now - w.now()/1000)
	}
	w.noticeBound(p.Bound)
	return p, nil
}

// earlier returns the earlier of two times; b may be zero, which means no limit.
func earlier(a, b time.Time) time.Time {
	if b.IsZero() || a.Before(b) {
		return a
	}
	return b
}

// apply applies a page: fences first, then positions. Its caller may extend the lease after that.
func (w *Follower) apply(p invalidate.Page) {
	w.applying.Lock()
	found := w.fences.Follow(p, w.tellOthers)
	w.applying.Unlock()
	w.record(found)
}

// tellOthers reports what other processes have invalidated.
func (w *Follower) tellOthers(r *invalidate.Record, followed bool) {
	if w.cfg.OnApplied != nil && w.caughtUp.Load() {
		w.events.record(r, followed)
	}
}

// extend confirms the lease. It is safe only after all answers are applied: readers take the lease
// first and the fences second.
func (w *Follower) extend(asked int64) {
	w.lease.extend(asked)
	w.caughtUp.Store(true)
	w.noticeRenewal()
}

// tail is the tail's loop: it applies records as they come. It neither confirms the lease nor keeps
// it from lapsing: its server may have been deposed.
func (w *Follower) tail() {
	t, retry, failing := time.NewTimer(w.bound), newBackoff(w.bound), false
	defer t.Stop()
	rests, h := rests{bound: w.bound}, hearing{over: make(chan struct{}, 1)}
	due := atOnce
	for {
		select {
		case <-w.stop:
			return
		case <-due:
		case <-w.resumed:
		case <-t.C:
		}
		p, err := w.listen(&h)
		next := rests.after(len(p.Keys)+len(p.Scopes), time.Since(w.cfg.Origin))
		if err != nil {
			next = retry.next()
			w.numbers.tailErrors.Add(1)
		} else {
			w.apply(p)
			retry.reset()
			if failing {
				signal(w.heard)
			}
		}
		failing = err != nil
		if due = nil; next <= 0 {
			due = atOnce
		}
		t.Reset(max(next, shortestRest))
	}
}
