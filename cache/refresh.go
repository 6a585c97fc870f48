package cache

import (
	"context"
	"time"
)

// refreshPause is how long a stale hit leaves it to others to start a refresh
// after one was refused or found to be running elsewhere.
const refreshPause = 100 * time.Millisecond

// wornPause is how long a value that was built from an expired part is left as it is: the
// part is being refreshed meanwhile.
const wornPause = time.Second

// refreshLater starts a background refresh of it, by the loader and options of j, unless
// one was started a moment ago or too many run. It never blocks.
func (j *job[K, V]) refreshLater(ctx context.Context, it *item[K, V]) {
	now, due := j.t.now(), it.nextTry.Load()
	if !j.canLoad() || now < due || !it.nextTry.CompareAndSwap(due, even(after(now, refreshPause))) {
		return
	}
	a := &ask[K, V]{called: now}
	if a.begin(j.Cache, "refresh", j.k, j.at, j.loader, j.o.ofRefresh()) != nil {
		return
	}
	if !j.takeRefresh() {
		j.v.counts.inc(refreshSkipped)
		return
	}
	a.refreshing = it
	// The refresh is nobody's ingredient and runs in no one else's turn.
	ctx = context.WithValue(ctx, fillKey{}, (*Fill)(nil))
	f, led, err := a.join(ctx, false)
	if led {
		it.nextTry.Store(even(after(now, a.p.LoadTimeout)))
		f.Pin()
		one := []run[K, V]{{f: f}}
		one[0].begin(ctx)
		led = newParty(ctx, one).launch(ctx)
	}
	if err == nil {
		f.Leave()
	}
	if !led {
		j.returnRefresh()
	}
}

// takeRefresh reserves room for a background refresh, if fewer run than the policy and the
// tiers allow.
func (j *job[K, V]) takeRefresh() bool {
	running, most := j.v.refreshes, int64(j.p.MaxRefreshes)
	if n := running.Add(1); most > 0 && n > most || !j.t.refresh.TryAcquire(1) {
		running.Add(-1)
		return false
	}
	return true
}

// returnRefresh undoes takeRefresh.
func (j *job[K, V]) returnRefresh() {
	j.t.refresh.Release(1)
	j.v.refreshes.Add(-1)
}

// refreshed does the accounts of a background refresh.
func (j *job[K, V]) refreshed(out *outcome[K, V]) {
	now := j.t.now()
	switch {
	case out.panicked != nil:
		j.v.counts.inc(refreshFailed)
		// The stack, but not what the loader panicked with: it may be a value.
		j.t.log.Error("cache: a refresh panicked", "namespace", j.v.space.Namespace, "stack", string(out.panicked.Stack))
		j.refreshing.nextTry.Store(even(after(now, j.p.Throttle)))
	case out.again:
		j.v.counts.inc(refreshElsewhere)
		j.refreshing.nextTry.Store(even(after(now, refreshPause)))
	case out.it == nil:
		j.v.counts.inc(refreshFailed)
		j.refreshing.spare(now, j.p.Throttle)
	case out.src == Load:
		j.v.counts.inc(refreshOK)
	}
}

// spare notes that a load of the item's key failed now. For d the item is served, as long
// as it is good for that, without another load.
func (it *item[K, V]) spare(now int64, d time.Duration) {
	until := after(now, d)
	if d > 0 {
		it.nextTry.Store((until - 1) | 1)
	} else {
		it.nextTry.Store(even(until))
	}
}

// spared reports whether a load failed a moment ago. nextTry is odd then. It is even when it
// says no more than that a refresh runs: a value past Stale does not stand in for a load
// that may still succeed.
func (it *item[K, V]) spared(now int64) bool {
	next := it.nextTry.Load()
	return now < next && next&1 != 0
}

// even returns t or the nanosecond before.
func even(t int64) int64 { return t &^ 1 }
