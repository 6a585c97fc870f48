package cache

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// attempt is one run of the loader.
type attempt[K comparable, V any] struct {
	it        *item[K, V] // the value or absence; nil when err or panicked is set
	err       error
	panicked  *PanicError
	mark      invalidate.Mark
	facts     facts
	took      time.Duration
	overtaken bool
	late      bool // the hook of the load ends the flight
}

// load is one run of a loader, in its turn and within its limits.
type load struct {
	detached
	Fill
	ctx    context.Context // what the loader gets: the load itself, or that with a span
	turn   bool            // it has a turn of its own
	traced func(error, *PanicError)
	begun  time.Time
}

// attempt runs the loader once.
func (j *job[K, V]) attempt() (a attempt[K, V]) {
	l, hook := j.newLoad()
	if a.err = j.enter(l); a.err != nil {
		return a
	}
	hook.freeze(j)
	l.watch(hook)
	defer func() { a.late = j.leave(l, a.err, a.panicked) }()
	if j.claimed {
		defer j.keepClaim(l.ctx)()
	}
	var v V
	var tags []string
	a.mark = j.t.fences.Capture() // right before the load it describes
	// Behind the mark: an invalidation that comes between the two covers the value, and
	// one that comes later overtakes the load.
	lease := j.t.lease.Read()
	prev := j.standIn()
	if prev != nil {
		l.previous = prev.val
	}
	begun := j.t.now()
	a.guard(func() {
		v, a.err = j.loader(l.ctx, j.k)
		if a.err == nil && j.s.cfg.Tags != nil {
			tags = j.s.cfg.Tags(j.k, v)
		}
	})
	a.took = time.Duration(j.t.now() - begun)
	a.facts = l.Fill.close()
	if a.panicked == nil {
		j.conclude(&a, v, tags, a.err, previous[K, V]{prev, lease}, begun)
	}
	return a
}

// newLoad returns a load of the flight's, and its hook. The first is part of the
// flight; a loader may go on with it after it was overtaken, so each has its own.
func (j *job[K, V]) newLoad() (*load, *late[K, V]) {
	if j.effort != nil && j.effort.load.ctx == nil {
		return &j.effort.load, &j.effort.late
	}
	return new(load), new(late[K, V])
}

// enter waits for a load's turn and begins it under the policy's LoadTimeout,
// with its handle in the context.
func (j *job[K, V]) enter(l *load) error {
	l.detached.begin(j.ctx, j.p.LoadTimeout)
	l.ctx = &l.detached
	// A load nested in another runs in the outer one's turn: if it waited for
	// its own, enough outer loads could hold every turn and wait for ever.
	if j.outer == nil {
		if err := j.takeTurn(l); err != nil {
			l.detached.close()
			return err
		}
	}
	l.Fill = Fill{parent: j.outer, t: j.t, text: j.text, tenant: j.v.space.Tenant, vouched: never, stale: -1}
	l.fill = &l.Fill
	l.begun = time.Now()
	j.v.counts.inc(loads)
	if j.t.seen.tracing() {
		l.ctx, l.traced = j.t.seen.loadStart(l.ctx, j.v, j.refreshing != nil)
		j.span = spanOf(l.ctx)
	}
	return nil
}

// leave ends a load. It reports whether that had run out of time, or of callers.
func (j *job[K, V]) leave(l *load, err error, p *PanicError) (late bool) {
	if l.turn {
		j.t.loads.Release(1)
	}
	late = l.detached.close()
	j.t.seen.loadEnd(l.ctx, j.v, time.Since(l.begun), err, p)
	if l.traced != nil {
		l.traced(err, p)
	}
	return late
}

// takeTurn waits until fewer than MaxLoads loads run, or until a load that has
// its turn joins this flight: if that one waited for us, and we for a turn, both
// would wait for ever. We then run in the other's turn, as if it had led.
func (j *job[K, V]) takeTurn(l *load) error {
	if l.turn = j.t.loads.TryAcquire(1); l.turn {
		return nil
	}
	wait, cancel := context.WithCancel(&l.detached)
	defer cancel()
	j.lent.onOpen(cancel)
	err := j.t.loads.Acquire(wait, 1)
	switch late := l.Err() != nil || !time.Now().Before(l.deadline); {
	case late && err == nil: // others ran out of time at this moment, too, and made room
		j.t.loads.Release(1)
		fallthrough
	case late:
		return cmp.Or(j.ctx.Err(), ErrOverloaded)
	}
	l.turn = err == nil
	return nil
}

// guard calls the user's code and keeps its panic. A Goexit passes through to
// the end of the flight's goroutine.
func (a *attempt[K, V]) guard(f func()) {
	loading.Add(1)
	defer loading.Add(-1)
	defer func() {
		if p := recover(); p != nil {
			a.panicked = asPanic(p)
		}
	}()
	f()
}

// previous is the value that a load is to replace, nil for none, and the lease under which
// it was found clear.
type previous[K comparable, V any] struct {
	*item[K, V]
	lease int64
}

// conclude makes an item of what the loader returned, or keeps its error.
func (j *job[K, V]) conclude(a *attempt[K, V], v V, tags []string, err error, prev previous[K, V], begun int64) {
	it := j.newItem(a.mark)
	it.loadedAt, it.here, it.loadTime = begun, true, a.took
	a.err = nil
	switch {
	case err == nil:
		if j.s.cfg.Clone != nil { // the loader may keep what it returned, and change it
			v = j.s.cfg.Clone(v)
		}
		it.val = v
	case errors.Is(err, ErrNotModified) && prev.item != nil:
		it.val = prev.val
		tags = nil
		if len(prev.tags) > 0 {
			it.own().tags, it.own().names = prev.tags, prev.names
		}
		if len(prev.tags) > 0 || prev.older > 0 { // its source says nothing about its parts
			a.facts.vouched = min(a.facts.vouched, j.t.vouchedAt(prev.rare, prev.readAt(), prev.lease))
		}
	case errors.Is(err, ErrNotFound):
		it.own().err = j.fail(err)
	default:
		a.err = err
		return
	}
	j.setTags(it, tags, &a.facts)
	a.it = it
	a.overtaken = j.t.fences.Overtaken(a.mark, j.hash, j.text, it.tags)
}

// settle stores what an attempt brought, as far as the policy lets it, and
// ends the flight.
func (j *job[K, V]) settle(a attempt[K, V]) {
	switch {
	case a.panicked != nil:
		j.v.counts.inc(loadPanics)
		j.release()
		j.ended(outcome[K, V]{panicked: a.panicked})
	case a.err != nil:
		j.settleError(a)
	case a.overtaken:
		// It may be older than an invalidation: no tier gets it.
		j.v.counts.inc(overtaken)
		j.release()
		j.ended(outcome[K, V]{it: a.it, src: Load, mark: a.mark, overtaken: true})
	default:
		if ttl := j.ttlOf(a); ttl > 0 && j.admits(a) {
			j.store(a, ttl)
		} else {
			j.release()
		}
		j.ended(outcome[K, V]{it: a.it, src: Load, mark: a.mark})
	}
}

// settleError remembers a load error when the policy asks for it, unless there
// is an old value to serve in its place.
func (j *job[K, V]) settleError(a attempt[K, V]) {
	ttl := j.p.ErrorTTL()
	if ttl == 0 || j.p.Off || j.held || j.standIn() != nil || errors.Is(a.err, ErrOverloaded) || j.ctx.Err() != nil {
		j.release()
		j.failed(a.err)
		return
	}
	a.it = j.newItem(a.mark)
	a.it.loadTime, a.it.loadedAt = a.took, j.t.now()-int64(a.took)
	a.it.here = true
	a.it.own().err = j.fail(&RememberedError{Code: codeOf(a.err), Err: a.err})
	j.setTags(a.it, nil, &a.facts)
	if j.t.fences.Overtaken(a.mark, j.hash, j.text, a.it.tags) || !j.admits(a) {
		j.release()
	} else {
		j.store(a, ttl)
	}
	j.failed(a.err)
}

// failed ends the flight with an error. An old value that may stand in for it
// is put back for a while, so that a broken source is not asked by every read;
// and before anybody is woken, or the next read would ask it.
func (j *job[K, V]) failed(err error) {
	old := j.standIn()
	select {
	case <-j.call.Done(): // too late, or abandoned
		return
	default:
	}
	if old != nil && j.refreshing == nil && j.ctx.Err() == nil {
		j.spareSource(old)
	}
	j.ended(outcome[K, V]{err: err, old: old})
}

// standIn is old for the flight's own goroutine, which may also know a value
// of the remote tier that the local one did not take.
func (j *job[K, V]) standIn() *item[K, V] {
	if it := j.old(); it != nil || j.spare == nil {
		return it
	}
	it := j.spare
	if it.err != nil || it.freshness(j.t.now()) == dead || !j.clear(it) {
		return nil
	}
	return it
}

// ended ends the flight, unless it has ended already, and reports which.
func (j *job[K, V]) ended(out outcome[K, V]) bool {
	out.span = j.span
	first := j.call.Finish(out)
	if first && j.refreshing != nil {
		j.refreshed(out)
	}
	if first && j.after != nil {
		j.after()
	}
	return first
}

// ttlOf returns how long what was loaded is fresh; 0: it is not to be stored.
func (j *job[K, V]) ttlOf(a attempt[K, V]) time.Duration {
	if a.it.err != nil {
		return j.p.NegativeTTL
	}
	switch {
	case a.facts.ttl != 0:
		return a.facts.ttl
	case j.o.ttl != 0:
		return j.o.ttl
	}
	return j.p.TTL
}

// admits reports whether what was loaded may be stored, and counts why not.
func (j *job[K, V]) admits(a attempt[K, V]) bool {
	why := fillStored
	switch {
	case j.p.Off:
		return false
	case j.held, a.facts.noStore, j.t.fences.Held(j.hash, j.text, a.it.tags):
		why = fillNoStore
	case a.facts.badTag, len(a.it.tags) > tier.MaxTags:
		why = fillTags
	case a.took < j.p.Admit.MinLoad:
		why = fillNotAdmitted
	}
	if why == fillStored {
		return true
	}
	j.v.counts.inc(why)
	return false
}

// store fills both tiers. The remote tier comes first: when it refuses the
// fill, the claim was lost, to an invalidation perhaps, and then this process
// does not keep the value either.
func (j *job[K, V]) store(a attempt[K, V], ttl time.Duration) {
	it := a.it
	it.live(j.t.now(), j.lifetime(it, ttl, a.facts.stale))
	if !j.claimed {
		if it.err == nil && j.s.size(&it.val) > int64(j.p.MaxValueBytes) {
			j.v.counts.inc(fillTooLarge)
			return
		}
		j.put(it)
		return
	}
	f, ok := j.fillOf(it, a.mark)
	if !ok {
		return
	}
	// The callers' contexts are not asked: the work is done, and may be kept.
	filled, err := j.t.remote.fill(context.WithoutCancel(j.ctx), j.p.RemoteTimeout, j.text, f)
	j.filled(it, filled, err)
}

// filled does the accounts of a fill, and keeps the item here unless the claim
// was lost.
func (j *job[K, V]) filled(it *item[K, V], ok bool, err error) {
	j.claimed = false
	switch {
	case ok:
		j.v.counts.inc(fillStored)
	case err != nil:
		j.v.counts.inc(fillFailed)
	default:
		j.v.counts.inc(fillLost)
		return
	}
	j.put(it)
}

// lifetime returns how long an item is good for under the policy.
// Stale replaces the policy's when it is not negative.
func (j *job[K, V]) lifetime(it *item[K, V], ttl, stale time.Duration) lifetime {
	l := lifetime{soft: policy.Spread(ttl, j.p.Jitter, j.hash), trust: policy.Forever}
	if j.p.LocalTTL > 0 {
		if j.t.remote == nil {
			l.soft = min(l.soft, j.p.LocalTTL)
		} else {
			l.trust = j.p.LocalTTL
		}
	}
	if it.err == nil {
		l.stale = j.p.Stale
		if stale >= 0 {
			l.stale = stale
		}
		l.hard = policy.Add(policy.Add(l.soft, l.stale), j.p.StaleIfError)
		l.ahead = policy.RefreshWindow(it.loadTime, j.p.RefreshAhead)
	} else {
		l.hard = l.soft
	}
	return l
}

// fillOf returns what fills the claimed cell with an item. When there is
// nothing to fill, it gives the claim back and reports false; a value that
// merely does not encode is then kept here, one too large for one tier is too
// large for both.
func (j *job[K, V]) fillOf(it *item[K, V], mark invalidate.Mark) (tier.Fill, bool) {
	payload, why := j.payload(it)
	if why != fillStored {
		j.v.counts.inc(why)
		j.release()
		if why == fillUnencodable {
			j.put(it)
		}
		return tier.Fill{}, false
	}
	cell, keep, err := j.freeze(it, payload, j.claim.Nonce, mark)
	if err != nil { // its tags and codec were checked before
		j.v.counts.inc(fillFailed)
		j.release()
		return tier.Fill{}, false
	}
	j.t.seen.valueSize(sizeOut, len(payload))
	return tier.Fill{Nonce: j.claim.Nonce, Cell: cell, TTL: keep}, true
}
