package follow

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// sync is the syncer's loop: it renews, catches up and appends, one round at a time. After a failed
// round it ignores callers until its backoff ends.
func (w *Follower) sync() {
	t, lapse := time.NewTimer(0), time.NewTimer(w.bound)
	defer t.Stop()
	defer lapse.Stop()
	wake := w.wake
	for {
		select {
		case <-w.stop:
			return
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
		next, err := w.round(w.ctx, time.Time{})
		<-w.turn
		t.Reset(next)
		lapse.Reset(w.leaseLeft())
		if wake = w.wake; err != nil {
			wake = nil
		}
	}
}

// round makes one attempt and returns how long to wait before the next. With until, it ends by
// then. A round that until cut off says nothing about the log.
func (w *Follower) round(ctx context.Context, until time.Time) (next time.Duration, err error) {
	w.noticeLapse()
	w.mu.Lock()
	began := w.now()
	w.attempt.running, w.attempt.began = true, began
	w.mu.Unlock()

	err = w.try(ctx, until)

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
		next = max(next-took, next/2) // so a log that hangs is asked as often as one that refuses
	}
	close(w.attempt.over)
	w.attempt = attempt{over: make(chan struct{})}
	return next, err
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
func (w *Follower) try(ctx context.Context, until time.Time) error {
	orders := w.takeOrders()
	err := w.exchange(ctx, orders, until)
	if err != nil {
		w.giveBack(ctx, orders, err)
		return err
	}
	w.settle(orders)
	return nil
}

// exchange appends what the orders cover, in as many records as needed, and reads until nothing is
// left. Only then does it extend the lease, as of the moment before the last question.
func (w *Follower) exchange(ctx context.Context, orders []*order, until time.Time) error {
	var keys, scopes []invalidate.Fence
	var cells []string
	for _, o := range orders {
		keys, scopes = o.req.fences(keys, scopes)
		if len(o.cells) > 0 && w.logRemoves(o) {
			cells = append(cells, w.cfg.Names(o.cells)...)
		}
	}
	keys, scopes = distinct(keys), distinct(scopes)
	for {
		var a invalidate.Append
		var gone []string
		gone, cells = split(cells, invalidate.MaxCells)
		if len(cells) == 0 { // all cells go first
			a.Keys, keys = split(keys, invalidate.MaxFences)
			a.Scopes, scopes = split(scopes, invalidate.MaxFences)
		}
		asked := w.now()
		w.sent.Store(&a)
		p, err := w.ask(ctx, a, gone, until)
		if err != nil {
			return err
		}
		w.apply(p)
		w.fences.confirm(a, p)
		w.sent.Store(nil)
		if !p.More && len(cells)+len(keys)+len(scopes) == 0 {
			w.extend(asked)
			break
		}
	}
	for _, o := range orders {
		if w.logRemoves(o) {
			o.cells = nil
		}
	}
	return nil
}

func split[T any](s []T, most int) (now, rest []T) {
	n := min(len(s), most)
	return s[:n:n], s[n:]
}

// ask makes one call to the log, under its own deadline, so that one hanging call does not make the
// lease lapse.
func (w *Follower) ask(ctx context.Context, a invalidate.Append, cells []string, until time.Time) (p invalidate.Page, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("invalidate: the log panicked (%T)", x)
		}
	}()
	ctx, cancel := context.WithDeadline(ctx, earlier(time.Now().Add(w.bound/4), until))
	defer cancel()
	w.numbers.syncs.Add(1)
	if len(cells) > 0 {
		p, err = w.remover.SyncRemoving(ctx, w.fences.cursor(), a, cells)
	} else {
		p, err = w.log.Sync(ctx, w.fences.cursor(), a)
	}
	if err != nil {
		return invalidate.Page{}, err
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
	found := w.fences.follow(p, w.tellOthers)
	w.applying.Unlock()
	w.record(found)
}

// tellOthers reports what other processes have invalidated. The tail may bring a record of this
// process before the call that appends it returns; its fences identify it.
func (w *Follower) tellOthers(r *invalidate.Record, followed bool) {
	if w.cfg.OnApplied == nil || !w.caughtUp.Load() {
		return
	}
	if !followed || r.Bump || r.Damaged {
		w.cfg.OnApplied([]invalidate.Fence{invalidate.All().Fence()})
	}
	sent := w.sent.Load()
	if len(r.Fences) == 0 || sent != nil && (slices.Equal(r.Fences, sent.Keys) || slices.Equal(r.Fences, sent.Scopes)) {
		return
	}
	w.cfg.OnApplied(r.Fences)
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
	t, retry, failing := time.NewTimer(0), newBackoff(w.bound), false
	defer t.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-w.resumed:
		case <-t.C:
		}
		p, err := w.listen()
		next := w.restAfter(len(p.Keys) + len(p.Scopes))
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
		t.Reset(next)
	}
}

// restAfter returns how long the tail rests after a read that returned this number of records: a
// thousandth of the bound for each record, at most a hundredth of it, and at least 2 ms. So a
// single record is read at once, and a stream of records is read less often: a read costs the log's
// server as much as many records, and a fleet makes many reads.
func (w *Follower) restAfter(records int) time.Duration {
	const shortest = 2 * time.Millisecond
	return max(shortest, min(time.Duration(records)*w.bound/1000, w.bound/100))
}

func (w *Follower) listen() (p invalidate.Page, err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("invalidate: the log panicked (%T)", x)
		}
	}()
	return w.log.Tail(w.ctx, w.fences.cursor())
}
