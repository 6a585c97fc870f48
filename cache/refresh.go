package cache

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/policy"
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
	t := j.t
	now, due := t.now(), it.nextTry.Load()
	if !j.canLoad() || now < due || !it.nextTry.CompareAndSwap(due, now+int64(refreshPause)) {
		return
	}
	a := new(ask[K, V])
	if a.begin(j.Cache, "refresh", j.k, j.at, j.loader, &callOpts{ttl: j.o.ttl, tags: j.o.tags, maxAge: -1}) != nil {
		return
	}
	if !t.refresh.TryAcquire(1) {
		j.v.counts.inc(refreshSkipped)
		return
	}
	a.refreshing = it
	// The refresh is nobody's ingredient and runs in no one else's turn.
	ctx = context.WithValue(ctx, fillKey{}, (*Fill)(nil))
	f, led, err := a.join(ctx, false)
	if led {
		it.nextTry.Store(now + int64(a.p.LoadTimeout))
		f.Pin()
		one := []run[K, V]{{f: f}}
		one[0].begin(ctx)
		led = newParty(ctx, one).launch(ctx)
	}
	if err == nil {
		f.Leave()
	}
	if !led {
		t.refresh.Release(1)
	}
}

// refreshed does the accounts of a background refresh.
func (j *job[K, V]) refreshed(out *outcome[K, V]) {
	pause := j.throttle()
	switch {
	case out.panicked != nil:
		j.v.counts.inc(refreshFailed)
		// The stack, but not what the loader panicked with: it may be a value.
		j.t.log.Error("cache: a refresh panicked", "namespace", j.v.space.Namespace, "stack", string(out.panicked.Stack))
	case out.again:
		j.v.counts.inc(refreshElsewhere)
		pause = refreshPause
	case out.it == nil:
		j.v.counts.inc(refreshFailed)
	case out.src == Load:
		j.v.counts.inc(refreshOK)
		return
	default:
		return
	}
	j.refreshing.nextTry.Store(j.t.now() + int64(pause))
}

// spareSource lets an old value be served for a while without another load.
func (j *job[K, V]) spareSource(old *item[K, V]) {
	now := j.t.now()
	if old.freshness(now) > lastHope { // it was merely not good enough for this caller
		old.nextTry.Store(now + int64(j.throttle()))
		return
	}
	again := old.again(now, lifetime{soft: j.throttle(), trust: policy.Forever})
	_, _, hard := old.times()
	again.hardUntil = hard
	again.softUntil = min(again.softUntil, hard)
	again.staleUntil = min(again.staleUntil, hard)
	again.failSafe, again.quietUntil = true, -never
	j.put(again)
}

// throttle is how long a source that failed is left alone while an old value
// can be served.
func (j *job[K, V]) throttle() time.Duration {
	return max(j.p.ErrorTTL(), j.p.NegativeTTL, time.Second)
}
