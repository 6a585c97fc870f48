package cache

import (
	"context"
	"time"
)

// refreshPause is how long stale hits start no refresh after one was refused or was found
// running elsewhere.
const refreshPause = 100 * time.Millisecond

// wornPause is how long a value that was built from an expired part is not refreshed. The part
// is refreshed first.
const wornPause = time.Second

// refreshLater starts a background refresh of it, with the loader and options of j. It starts
// none if another was started a moment ago, or if too many run. It never blocks.
func (j *job[K, V]) refreshLater(ctx context.Context, it *item[K, V]) {
	now, due := j.t.now(), it.nextTry.Load()
	if !j.canLoad() || now < due || !it.nextTry.CompareAndSwap(due, even(after(now, refreshPause))) {
		return
	}
	a := &ask[K, V]{called: now}
	if a.begin(j.cache(), "refresh", j.k, j.at, j.loader, j.o.ofRefresh()) != nil {
		return
	}
	if !j.takeRefresh() {
		j.v.counts.inc(refreshSkipped)
		return
	}
	a.j.refreshing = it
	// The refresh is no part of the caller's load, and takes its own turn.
	ctx = context.WithValue(ctx, fillKey{}, (*Fill)(nil))
	f, led, err := a.join(ctx, false)
	if led {
		it.nextTry.Store(even(after(now, a.j.p.LoadTimeout)))
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

// takeRefresh reserves room for a background refresh. It reports false if the policy's or the
// Tiers' limit is reached.
func (j *job[K, V]) takeRefresh() bool {
	running, most := j.v.refreshes, int64(j.p.MaxRefreshes)
	if n := running.Add(1); most > 0 && n > most || !j.t.refresh.TryAcquire(1) {
		running.Add(-1)
		return false
	}
	return true
}

func (j *job[K, V]) returnRefresh() {
	j.t.refresh.Release(1)
	j.v.refreshes.Add(-1)
}

// refreshed counts the outcome of a background refresh.
func (j *job[K, V]) refreshed(out *outcome[K, V]) {
	now := j.t.now()
	switch {
	case out.panicked != nil:
		j.v.counts.inc(refreshFailed)
		// The stack, but not the panic's value: that may be a cached value.
		j.t.log.Error("cache: a refresh panicked", "namespace", j.v.space.Namespace, "stack", string(out.panicked.Stack))
		j.refreshing.nextTry.Store(even(after(now, j.p.Throttle)))
	case out.again:
		j.v.counts.inc(refreshElsewhere)
		j.refreshing.nextTry.Store(even(after(now, refreshPause)))
	case out.it == nil || out.it.remembered():
		j.v.counts.inc(refreshFailed)
		j.refreshing.spare(now, j.p.Throttle)
	case out.src == Load:
		j.v.counts.inc(refreshOK)
	}
}

// spare notes that a load of the item's key failed now. For d the item is served without another
// load, as long as it may be served in place of a failed load.
func (it *item[K, V]) spare(now int64, d time.Duration) {
	until := after(now, d)
	if d > 0 {
		it.nextTry.Store((until - 1) | 1)
	} else {
		it.nextTry.Store(even(until))
	}
}

// spared reports whether a load failed a moment ago: nextTry is odd then. An even nextTry only
// means that a refresh runs. While that refresh may still succeed, no value past Stale takes its
// place.
func (it *item[K, V]) spared(now int64) bool {
	next := it.nextTry.Load()
	return now < next && next&1 != 0
}

// even returns t, or t-1 if t is odd.
func even(t int64) int64 { return t &^ 1 }
