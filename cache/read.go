package cache

import (
	"context"
	"math"

	"github.com/twofold-go/twofold/internal/scope"
)

// Get returns the value of k: from this process, from the remote tier, or from the cache's
// loader. A local hit allocates nothing, takes no lock and never waits. For everything
// else, ctx limits how long the caller waits.
//
// Get returns [ErrNotFound] if the loader returned it now or a moment ago, [ErrMiss] if there is
// no loader, [ErrOverloaded], [ErrClosed], ctx's error, or the loader's error, each inside an
// [*Error]. If the loader panics, Get panics with a [*PanicError].
func (c Cache[K, V]) Get(ctx context.Context, k K) (V, error) {
	if c.s == nil {
		var zero V
		return zero, errZero("get")
	}
	at := c.slot(k)
	it, lease, n := c.hit(at, k, 0)
	if it == nil {
		return c.miss(ctx, k, at, n != 0)
	}
	c.inherit(ctx, it, lease)
	if n != 0 {
		return c.told(ctx, it, n)
	}
	if it.plain {
		return c.value(it), nil
	}
	return c.value(it), it.err
}

// miss is the rest of Get. It is a separate function, so that a goroutine that waits in it keeps
// a small stack; a thousand may wait.
//
//go:noinline
func (c Cache[K, V]) miss(ctx context.Context, k K, at uint64, found bool) (v V, err error) {
	begun := c.s.t.now()
	var a ask[K, V]
	a.called = c.s.t.confirm(ctx, math.MaxInt64, begun)
	if err := a.begin(c, "get", k, at, nil, &anyAge); err != nil {
		return v, err
	}
	r, err := a.read(ctx, found)
	a.tell(ctx, begun, r.Source, r.Stale, r.Negative, err)
	return r.Value, err
}

// GetOrLoad is [Cache.Get] with a loader for this call. Concurrent calls for one key share one
// load, by the loader of the first. So all calls for a key should bring equivalent loaders. A
// nil loader means the cache's own loader; without one, GetOrLoad returns an error.
func (c Cache[K, V]) GetOrLoad(ctx context.Context, k K, load Loader[K, V], opts ...Option) (V, error) {
	if c.s != nil && load == nil && c.s.cfg.Load == nil && c.s.cfg.LoadMany == nil {
		var none V
		return none, c.fail("get", k, errNoLoader)
	}
	r, err := c.Fetch(ctx, k, load, opts...)
	return r.Value, err
}

// Fetch is [Cache.GetOrLoad] with a Result that says where the value came from. A nil loader
// means the cache's own loader; without one, a key that is not cached is an [ErrMiss].
func (c Cache[K, V]) Fetch(ctx context.Context, k K, load Loader[K, V], opts ...Option) (Result[V], error) {
	o, err := collect(opts, ofRead)
	switch {
	case c.s == nil:
		return Result[V]{}, errZero("get")
	case err != nil:
		return Result[V]{}, c.fail("get", k, wrongUse(err))
	}
	return c.fetch(ctx, "get", k, load, &o)
}

func (c Cache[K, V]) fetch(ctx context.Context, op string, k K, load Loader[K, V], o *callOpts) (Result[V], error) {
	begun := c.s.t.now()
	var a ask[K, V]
	a.called = begun
	if !o.anew {
		a.called = c.s.t.confirm(ctx, o.within(), begun)
	}
	if err := a.begin(c, op, k, c.slot(k), load, o); err != nil {
		return Result[V]{}, err
	}
	r, err := a.read(ctx, true)
	if op == "get" && (!a.quiet || a.j.t.notable.Load() == 0) {
		a.tell(ctx, begun, r.Source, r.Stale, r.Negative, err)
	}
	return r, err
}

// Peek returns the value of k if a tier has one that may be served. It never loads and never
// starts a refresh. It asks the remote tier only if this process has no value, or has one whose
// LocalTTL has passed. It reports false after any failure, but a value that is only past its
// LocalTTL is returned then.
func (c Cache[K, V]) Peek(ctx context.Context, k K) (V, bool) {
	var zero V
	if c.s == nil {
		return zero, false
	}
	at := c.slot(k)
	if it, lease, _ := c.hit(at, k, 0); it != nil {
		c.inherit(ctx, it, lease)
		return c.value(it), it.err == nil
	}
	var j job[K, V]
	if err := j.changes(c, "peek", k); err != nil || j.p.Off {
		return zero, false
	}
	now := j.t.confirm(ctx, j.o.within(), j.t.now())
	lease := j.t.lease.Read() // before find and peekRemote look at the fences
	it, _ := c.find(at, k, now)
	switch {
	case it == nil || it.freshness(now) < stale:
		it, _ = j.peekRemote(ctx)
	case it.freshness(now) == untrusted:
		if got, asked := j.peekRemote(ctx); asked && (got == nil || !got.remembered()) {
			it = got
		}
	}
	if it == nil || it.err != nil {
		return zero, false
	}
	c.inherit(ctx, it, lease)
	return c.value(it), true
}

// peekRemote returns a value of the remote tier that may be served, or nil. It reports whether the
// remote tier answered.
func (j *job[K, V]) peekRemote(ctx context.Context) (it *item[K, V], asked bool) {
	if j.far() == nil {
		return nil, false
	}
	f, err := j.getCell(ctx, new(scope.Deadline))
	if err != nil {
		return nil, false
	}
	if f.verdict != usable || f.it.freshness(j.t.now()) < stale {
		return nil, true
	}
	j.put(f.it)
	j.v.counts.inc(hitsRemote)
	return f.it, true
}

// read is the whole look-up behind every reading method. It tries this process first, and then
// flights until one gives an outcome that the caller may take. With found false, the caller
// knows that this process has no value.
func (a *ask[K, V]) read(ctx context.Context, found bool) (Result[V], error) {
	if found {
		if r, ok, err := a.fromLocal(ctx); ok {
			return r, err
		}
	}
	if err := ctx.Err(); err != nil {
		return Result[V]{}, a.j.fail(err)
	}
	var p patience
	defer p.stop()
	for tries := 0; ; tries++ {
		// Callers that could not take their outcome share the next flight, for at most
		// maxReloads tries. Then the caller leads its own flight, whose outcome it always takes.
		f, led, err := a.join(ctx, a.j.p.Off || tries > maxReloads)
		if err != nil {
			return Result[V]{}, a.j.fail(err)
		}
		out := a.fly(ctx, f, led, &p)
		if out.panicked != nil {
			panic(out.panicked)
		}
		if led || a.accepts(f, out) {
			return a.deliver(ctx, f, out, led)
		}
	}
}

// fly leads the flight or follows it, and waits for it.
func (a *ask[K, V]) fly(ctx context.Context, f *flight[K, V], led bool, p *patience) *outcome[K, V] {
	if led {
		if out := a.begun(ctx, f); out != nil {
			return out
		}
	} else {
		a.follow(ctx, f)
	}
	defer a.leave(ctx, f)
	return a.wait(ctx, f, p)
}

// begun leads the flight. If the caller's context has ended by then, it returns the caller's
// outcome. In that case the caller has left the flight before the party checks whether a caller
// waits.
//
//go:noinline
func (a *ask[K, V]) begun(ctx context.Context, f *flight[K, V]) *outcome[K, V] {
	stays := false
	defer func() {
		if !stays {
			a.leave(ctx, f)
		}
	}()
	rest := a.lead(ctx, f)
	if rest == nil {
		stays = true
		return nil
	}
	if err := ctx.Err(); err != nil {
		stays = true
		a.leave(ctx, f)
		rest.launch(ctx)
		return &outcome[K, V]{err: err}
	}
	rest.launch(ctx)
	stays = true
	return nil
}

// follow counts a caller that joins a flight, and lends it the turn of the caller's load.
func (a *ask[K, V]) follow(ctx context.Context, f *flight[K, V]) {
	a.j.v.counts.inc(merges)
	if loading.Load() > 0 && Filling(ctx) != nil {
		f.lent.Open()
	}
}

// fromLocal serves what this process holds: a fresh value, or a stale one with a background
// refresh.
func (a *ask[K, V]) fromLocal(ctx context.Context) (r Result[V], ok bool, err error) {
	if a.j.o.anew || a.j.o.skipLocal || a.j.p.Off {
		return r, false, nil
	}
	now := a.called // a promise is counted from it, and no entry is judged by more
	it, _ := a.j.cache().find(a.j.at, a.j.k, now)
	if it != nil && it.ended.Load() != 0 {
		now = max(now, a.j.t.now()) // it expired, perhaps after a Moment
	}
	if it == nil || !a.j.t.young(it.loadedAt, it.readAt(), a.lease, now, a.j.o.maxAge) {
		return r, false, nil
	}
	reason := notStale
	switch state := it.freshness(now); {
	case state == fresh:
		if it.due(now, a.j.p) {
			a.j.refreshLater(ctx, it)
		}
	case state == dead || a.j.o.noStale:
		return r, false, nil
	case state == stale && it.trustUntil >= it.freshUntil(): // after LocalTTL, ask the remote tier
		reason = revalidating
		a.j.refreshLater(ctx, it)
	case it.spared(now):
		reason = failedLoad
	default:
		return r, false, nil
	}
	it.checkUnchanged()
	if a.quiet = a.j.v.counts.hit(it.err != nil, reason)%sampled != 0; !a.quiet {
		a.sample = true
	}
	if reason != notStale {
		a.j.t.seen.staleness(a.j.v.counts, now-it.freshUntil())
	}
	a.j.cache().inherit(ctx, it, a.lease)
	return a.j.cache().result(it, Local, reason, now), true, it.err
}
