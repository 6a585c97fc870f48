package cache

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// Result is a value with what is known about it.
type Result[V any] struct {
	Value    V
	Source   Source
	Age      time.Duration // since the value's load began
	Stale    bool          // served although it is not fresh
	Negative bool          // the error is a remembered absence or load error
}

// Get returns the value of k: from this process, from the remote tier, or from
// the bound loader. A local hit allocates nothing, takes no lock and needs no
// context; ctx bounds how long the caller waits for anything else.
//
// It returns [ErrNotFound] when the loader said so now or a moment ago,
// [ErrMiss] when there is no loader, [ErrOverloaded], [ErrClosed], ctx's error,
// or the loader's, inside an [*Error]. When the loader panics, so does Get,
// with a [*PanicError].
func (c Cache[K, V]) Get(ctx context.Context, k K) (V, error) {
	if it, lease := c.hit(k); it != nil {
		c.inherit(ctx, it, lease)
		if it.plain {
			return c.value(it), nil
		}
		return c.value(it), it.err
	}
	return c.miss(ctx, k)
}

// miss is the rest of Get. It is apart to keep the stack of a goroutine small that waits
// in it: a thousand of them may.
//
//go:noinline
func (c Cache[K, V]) miss(ctx context.Context, k K) (V, error) {
	r, err := c.read(ctx, "get", k, nil, callOpts{maxAge: -1})
	return r.Value, err
}

// GetOrLoad is [Cache.Get] with a loader of the call's own. Concurrent calls
// for one key share one load, by whichever loader came first; so every call
// for one key should bring a loader that means the same.
func (c Cache[K, V]) GetOrLoad(ctx context.Context, k K, load Loader[K, V], opts ...Option) (V, error) {
	if len(opts) == 0 {
		if it, lease := c.hit(k); it != nil {
			c.inherit(ctx, it, lease)
			return c.value(it), it.err
		}
	}
	o, err := collect(opts)
	if err != nil {
		var zero V
		return zero, c.fail("get", k, err)
	}
	r, err := c.read(ctx, "get", k, load, o)
	return r.Value, err
}

// Fetch is [Cache.GetOrLoad] that also tells where the value came from. A nil
// loader means the bound one.
func (c Cache[K, V]) Fetch(ctx context.Context, k K, load Loader[K, V], opts ...Option) (Result[V], error) {
	o, err := collect(opts)
	if err != nil {
		return Result[V]{}, c.fail("get", k, err)
	}
	return c.read(ctx, "get", k, load, o)
}

// Peek returns the value of k if either tier has one that may be served. It
// never loads and never starts a refresh; it asks the remote tier only when
// this process has nothing. Any failure reports false.
func (c Cache[K, V]) Peek(ctx context.Context, k K) (V, bool) {
	var zero V
	if it, lease := c.hit(k); it != nil {
		c.inherit(ctx, it, lease)
		return c.value(it), it.err == nil
	}
	j, err := c.job(ctx, "peek", k, nil, callOpts{maxAge: -1})
	if err != nil || j.p.Off {
		return zero, false
	}
	j.t.confirm(ctx, j.o.within())
	lease := j.t.lease.Read() // before find and peekRemote look at the fences
	it := c.find(k)
	if it == nil || it.freshness(j.t.now()) < stale {
		it = j.peekRemote(ctx)
	}
	if it == nil || it.err != nil {
		return zero, false
	}
	c.inherit(ctx, it, lease)
	return c.value(it), true
}

// hit returns the entry of k if it can be served without further thought. This
// is the path that a warm program is on nearly always: one hash, one look-up,
// one clock, the lease, and the fences. The order of the last two matters; see
// lease.go. The lease is returned for what is built from the entry.
func (c Cache[K, V]) hit(k K) (*item[K, V], int64) {
	if c.s == nil {
		return nil, 0
	}
	t := c.s.t
	e, ok := t.local.Get(c.slot(k))
	if !ok {
		return nil, 0
	}
	it, ok := e.(*item[K, V])
	if !ok || it.key != k || !it.of(c.v) {
		return nil, 0
	}
	lease := t.lease.Read() // before any fence
	now := t.now()
	reason := notStale
	if now >= it.quietUntil {
		if reason = it.rests(now); reason == notStale {
			return nil, 0
		}
	}
	if c.v.policy().Off {
		return nil, 0
	}
	if !t.lease.Covers(lease, now) && !t.vouches(lease, now, it.readAt()) {
		return nil, 0
	}
	if it.clearAt.Load() != t.fences.Generation() && !it.unfenced(t, it) {
		return nil, 0
	}
	it.checkUnchanged()
	c.v.counts.hit(!it.plain && it.err != nil, reason)
	if reason != notStale {
		t.seen.staleness(now - it.softUntil)
	}
	return it, lease
}

// unfenced reports whether no fence covers the item, whose key the speller spells.
func (it *item[K, V]) unfenced(t *Tiers, speller invalidate.Keyed) bool {
	gen := t.fences.Generation() // before the check: a fence that comes while it runs is not part of it
	switch at := it.clearAt.Load(); {
	case at == covered:
		return false
	case at == gen || !t.fences.Since(at, it.low):
		return true
	}
	tick, ok := t.fences.Clear(it.born.Load(), it.low, speller, it.tags)
	return it.judged(gen, tick, ok)
}

// rests returns why an item that is past its time is served all the same, and nothing has
// to be done about that: a refresh is under way, or not to be started yet. It returns
// notStale when there is something to be done.
func (it *item[K, V]) rests(now int64) staleReason {
	if it.failSafe {
		if it.freshness(now) == fresh {
			return failedLoad
		}
		return notStale
	}
	if now >= it.softUntil && now < it.staleUntil && it.trustUntil >= it.softUntil && now < it.nextTry.Load() {
		return revalidating
	}
	return notStale
}

// find returns the entry of k in whatever state, as long as it is vouched for
// and no fence covers it.
func (c Cache[K, V]) find(k K) *item[K, V] {
	t := c.s.t
	it := c.lookup(k)
	if it == nil {
		return nil
	}
	lease := t.lease.Read()
	if !t.vouches(lease, t.now(), it.readAt()) || !it.unfenced(t, it) {
		return nil
	}
	return it
}

// lookup returns the entry of k, whatever it is worth.
func (c Cache[K, V]) lookup(k K) *item[K, V] {
	e, ok := c.s.t.local.Get(c.slot(k))
	if !ok {
		return nil
	}
	it, ok := e.(*item[K, V])
	if !ok || it.key != k || !it.of(c.v) {
		return nil
	}
	return it
}

func (it *item[K, V]) of(v *view) bool { return it.view == v || it.view.space == v.space }

// value hands out an entry's value.
func (c Cache[K, V]) value(it *item[K, V]) V {
	if c.s.cfg.Clone != nil && (it.plain || it.err == nil) {
		return c.s.cfg.Clone(it.val)
	}
	return it.val
}

// read is the whole look-up behind every reading method: this process first,
// then a flight, until something answers that the caller may be given.
func (c Cache[K, V]) read(ctx context.Context, op string, k K, load Loader[K, V], o callOpts) (Result[V], error) {
	if c.s == nil {
		return Result[V]{}, errZero(op)
	}
	if !o.anew {
		c.s.t.confirm(ctx, o.within())
		if r, ok, err := c.fromLocal(ctx, k, load, o); ok {
			return r, err
		}
	}
	j, err := c.job(ctx, op, k, load, o)
	if err != nil {
		return Result[V]{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result[V]{}, j.fail(err)
	}
	for tries := 0; ; tries++ {
		// Those who were refused an outcome share the next flight, but not for
		// ever: a caller that leads gets an answer.
		out, led := j.fly(ctx, j.p.Off || o.anew || tries > maxReloads)
		if out.panicked != nil {
			panic(out.panicked)
		}
		if led || j.accepts(out) {
			return j.deliver(ctx, out, led)
		}
	}
}

// fromLocal serves what this process holds: fresh, or stale with a refresh
// started behind the caller's back.
func (c Cache[K, V]) fromLocal(ctx context.Context, k K, load Loader[K, V], o callOpts) (r Result[V], ok bool, err error) {
	lease := c.s.t.lease.Read()
	it := c.find(k)
	if it == nil {
		return r, false, nil
	}
	now, p := c.s.t.now(), c.v.policy()
	if p.Off || !c.s.t.young(it.loadedAt, it.readAt(), lease, now, o.maxAge) || (o.noStale && it.failSafe) {
		return r, false, nil
	}
	reason := notStale
	switch it.freshness(now) {
	case fresh:
		if it.failSafe {
			reason = failedLoad
		} else if it.due(now, p) {
			c.refreshLater(ctx, it, load, o)
		}
	case stale:
		if o.noStale || it.trustUntil < it.softUntil { // capped by LocalTTL: the remote tier may know better
			return r, false, nil
		}
		reason = revalidating
		c.refreshLater(ctx, it, load, o)
	default:
		return r, false, nil
	}
	it.checkUnchanged()
	c.v.counts.hit(it.err != nil, reason)
	if reason != notStale {
		c.s.t.seen.staleness(now - it.softUntil)
	}
	c.inherit(ctx, it, lease)
	return c.result(it, Local, reason, now), true, it.err
}

// due draws whether to refresh a fresh item early (XFetch).
func (it *item[K, V]) due(now int64, p *policy.Policy) bool {
	return p.RefreshAhead > 0 && it.softUntil != never && it.err == nil &&
		policy.RefreshDue(time.Duration(it.softUntil-now), it.loadTime, p.RefreshAhead, 1-rand.Float64())
}

func (c Cache[K, V]) result(it *item[K, V], src Source, reason staleReason, now int64) Result[V] {
	return Result[V]{
		Value:    c.value(it),
		Source:   src,
		Age:      max(time.Duration(now-it.loadedAt), 0),
		Stale:    reason != notStale,
		Negative: it.err != nil,
	}
}

// job is the rest of a look-up, once the local tier could not answer: the key
// spelled out, the policy in force, and the state of its flight if it leads
// one.
type job[K comparable, V any] struct {
	Cache[K, V]
	t         *Tiers
	p         *policy.Policy
	op        string
	k         K
	full      key.Key
	text      string
	hash      uint64 // of text, for cells and fences
	at        uint64 // address in the local tier
	loader    Loader[K, V]
	o         callOpts
	tick      uint64 // fences applied when the caller called
	called    int64  // when the caller called
	lease     int64  // as the caller found it
	leased    bool   // what was invalidated a bound before that was fenced by then
	minLoaded int64
	ctx       context.Context // a flight's own, or the caller's

	*lead[K, V] // nil when it is no look-up
}

// job returns a look-up.
func (c Cache[K, V]) job(ctx context.Context, op string, k K, load Loader[K, V], o callOpts) (*job[K, V], error) {
	n := new(struct { // one piece of memory
		job[K, V]
		own   lead[K, V]
		flown call[K, V]
	})
	n.job.lead, n.own.flown = &n.own, &n.flown
	if err := c.start(ctx, &n.job, op, k, load, o); err != nil {
		return &n.job, err
	}
	if loading.Load() > 0 && Filling(ctx).waitsFor(n.t, n.text) {
		return &n.job, n.fail(ErrRecursive)
	}
	return &n.job, nil
}

// change returns a job that changes an entry, and flies nowhere. A loader may change the
// entry that it loads: it waits for nothing.
func (c Cache[K, V]) change(ctx context.Context, op string, k K, o callOpts) (*job[K, V], error) {
	j := new(job[K, V])
	return j, c.start(ctx, j, op, k, nil, o)
}

func (c Cache[K, V]) start(ctx context.Context, j *job[K, V], op string, k K, load Loader[K, V], o callOpts) error {
	if c.s == nil {
		return errZero(op)
	}
	// One by one, as a literal would be on the stack before it is here.
	j.Cache, j.t, j.p = c, c.s.t, c.v.policy()
	j.op, j.k, j.loader, j.o = op, k, load, o
	j.minLoaded, j.ctx = -never, ctx
	j.lease = j.t.lease.Read() // before the tick: what the lease vouches for is part of it
	j.tick, j.called = j.t.fences.Tick(), j.t.now()
	j.leased = j.t.lease.Covers(j.lease, j.called) || safeguard.Off(safeguard.Lease)
	if j.t.work.isClosed() {
		return c.fail(op, k, ErrClosed)
	}
	if err := j.spell(); err != nil {
		return c.fail(op, k, err)
	}
	if load == nil {
		j.loader = c.s.load
	}
	if o.maxAge >= 0 {
		j.minLoaded = j.called - int64(o.maxAge)
	}
	return nil
}

func (j *job[K, V]) spell() error {
	if j.v.err != nil {
		return j.v.err
	}
	id, err := key.Of(j.k)
	if err != nil {
		return err
	}
	full, err := j.v.space.Key(id)
	if err != nil {
		return err
	}
	j.full, j.text, j.hash, j.at = full, full.String(), full.Hash(), j.slot(j.k)
	return nil
}

func (j *job[K, V]) fail(err error) error {
	return &Error{Op: j.op, Key: j.text, Err: err}
}

func (c Cache[K, V]) fail(op string, k K, err error) error {
	if c.s == nil {
		return errZero(op)
	}
	name := c.v.name
	if id, e := key.Of(k); e == nil && len(id) <= key.MaxLen {
		name += ":" + id
	}
	return &Error{Op: op, Key: name, Err: err}
}
