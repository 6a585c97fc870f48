package cache

import (
	"context"
	"time"
	"unsafe"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// newItem returns an item of the job's key, without a value, as of mark.
func (j *job[K, V]) newItem(mark invalidate.Mark) *item[K, V] {
	it := &item[K, V]{view: j.v, key: j.k, low: uint32(j.hash), rare: common} //nolint:gosec // the low half is what is wanted
	it.born.Store(mark.Tick)
	return it
}

// again returns a copy of the item with another lifetime, from now.
func (it *item[K, V]) again(now int64, l lifetime) *item[K, V] {
	n := &item[K, V]{
		view: it.view, key: it.key, val: it.val, low: it.low, here: it.here, loadedAt: it.loadedAt, loadTime: it.loadTime, rare: common,
	}
	n.born.Store(it.born.Load())
	if it.err != nil || len(it.tags) > 0 || it.older != 0 {
		*n.own() = rare{trustUntil: never, older: it.older, err: it.err, tags: it.tags, names: it.names}
	}
	n.live(now, l)
	return n
}

// put keeps an item in the local tier, unless an invalidation or a newer value
// came first. The lock makes the check and the store one step for the key: a
// load that ends late must not displace what a Set has just put there.
func (j *job[K, V]) put(it *item[K, V]) {
	mu := &j.t.puts[j.at%uint64(len(j.t.puts))]
	mu.Lock()
	defer mu.Unlock()
	j.putLocked(it)
}

func (j *job[K, V]) putLocked(it *item[K, V]) {
	if !j.unfenced(it) {
		return
	}
	if cur := j.lookup(j.k); cur == it || cur != nil && cur.loadedAt > it.loadedAt && j.unfenced(cur) {
		return
	}
	if !j.register(it) {
		return
	}
	it.plain = it.err == nil && len(it.tags) == 0
	it.putSeal()
	if !j.t.local.Set(j.at, it, j.cost(it)) {
		j.t.unregister(it)
	}
}

// What the registry takes, beside the key's text and the tags' names, which it
// shares: about.
const (
	registeredKey = 160
	registeredTag = 64
)

// cost is what an item takes in memory, as well as it can be told.
func (j *job[K, V]) cost(it *item[K, V]) int64 {
	n := int64(unsafe.Sizeof(*it))
	if it.rare != common {
		n += int64(unsafe.Sizeof(*it.rare)) + int64(len(it.text)) + int64(8*len(it.tags))
	}
	if j.t.cfg.Registry != nil {
		n += registeredKey + int64(len(it.tags))*registeredTag
	}
	if it.err == nil {
		n += max(j.s.size(&it.val)-int64(unsafe.Sizeof(it.val)), 0)
	}
	return n
}

// refreshLater starts a background refresh of it, unless one was started a
// moment ago or too many run. It never blocks.
func (c Cache[K, V]) refreshLater(ctx context.Context, it *item[K, V], load Loader[K, V], o callOpts) {
	t := c.s.t
	now, due := t.now(), it.nextTry.Load()
	if now < due || !it.nextTry.CompareAndSwap(due, now+int64(refreshPause)) {
		return
	}
	// The refresh is nobody's ingredient and runs in no one else's turn.
	ctx = context.WithValue(ctx, fillKey{}, (*Fill)(nil))
	j, err := c.job(ctx, "refresh", it.key, load, callOpts{ttl: o.ttl, tags: o.tags, maxAge: -1})
	if err != nil || j.loader == nil {
		return
	}
	if !t.refresh.TryAcquire(1) {
		c.v.counts.inc(refreshSkipped)
		return
	}
	j.refreshing = it
	call, led := j.join(false)
	if led {
		it.nextTry.Store(now + int64(j.p.LoadTimeout))
		call.Pin()
		j.call = call
		led = j.launch(ctx)
	}
	if call != nil {
		call.Leave()
	}
	if !led {
		t.refresh.Release(1)
	}
}

// refreshPause is how long a stale hit leaves it to others to start a refresh
// after one was refused or found to be running elsewhere.
const refreshPause = 100 * time.Millisecond

// refreshed does the accounts of a background refresh.
func (j *job[K, V]) refreshed(out outcome[K, V]) {
	now := j.t.now()
	switch {
	case out.panicked != nil:
		j.v.counts.inc(refreshFailed)
		j.refreshing.nextTry.Store(now + int64(j.throttle()))
		// The stack, but not what the loader panicked with: it may be a value.
		j.t.log.Error("cache: a refresh panicked", "namespace", j.v.space.Namespace, "stack", string(out.panicked.Stack))
	case out.again:
		j.v.counts.inc(refreshElsewhere)
		j.refreshing.nextTry.Store(now + int64(refreshPause))
	case out.it == nil:
		j.v.counts.inc(refreshFailed)
		j.refreshing.nextTry.Store(now + int64(j.throttle()))
	case out.src == Load:
		j.v.counts.inc(refreshOK)
	}
}

// spareSource lets an old value be served for a while without another load.
func (j *job[K, V]) spareSource(old *item[K, V]) {
	now := j.t.now()
	if old.freshness(now) > lastHope { // it was merely not good enough for this caller
		old.nextTry.Store(now + int64(j.throttle()))
		return
	}
	again := old.again(now, lifetime{soft: j.throttle(), trust: policy.Forever})
	again.hardUntil = old.hardUntil
	again.softUntil = min(again.softUntil, old.hardUntil)
	again.staleUntil = min(again.staleUntil, old.hardUntil)
	again.failSafe, again.quietUntil = true, -never
	j.put(again)
}

// throttle is how long a source that failed is left alone while an old value
// can be served.
func (j *job[K, V]) throttle() time.Duration {
	return max(j.p.ErrorTTL(), j.p.NegativeTTL, time.Second)
}

// peekRemote asks the remote tier for a value that may be served.
func (j *job[K, V]) peekRemote(ctx context.Context) *item[K, V] {
	if j.t.remote == nil {
		return nil
	}
	f, err := j.look(ctx)
	if err != nil || f.verdict != usable || f.it.freshness(j.t.now()) < stale {
		return nil
	}
	j.put(f.it)
	j.v.counts.inc(hitsRemote)
	return f.it
}

// negative returns the error of a remembered absence or, with a code, of a
// remembered load error.
func (j *job[K, V]) negative(code string) error {
	if code == "" {
		return &Error{Op: "get", Key: j.text, Err: ErrNotFound}
	}
	return &Error{Op: "get", Key: j.text, Err: &RememberedError{Code: code}}
}
