package cache

import (
	"context"

	"github.com/twofold-go/twofold/internal/engine"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/resident"
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
	c.v.Inherit(ctx, &it.e, lease)
	if n != 0 {
		engine.Told(ctx, c.v, &it.e, n)
	}
	if it.e.Plain {
		return c.valueOf(it), nil
	}
	return c.valueOf(it), it.e.Err
}

// miss is the rest of Get. It is a separate function because a thousand goroutines may wait in it,
// each with a small stack.
//
//go:noinline
func (c Cache[K, V]) miss(ctx context.Context, k K, at uint64, found bool) (v V, err error) {
	var a engine.Ask
	if err := a.Start(ctx, c.v, "get", at, nil, &resident.AnyAge); err != nil {
		return v, c.fail("get", k, err)
	}
	r, err := a.Read(ctx, c.asked(k), found)
	a.Report(ctx, &r, err)
	if r.It != nil {
		v = c.value(r.It)
	}
	return v, err
}

// GetOrLoad is [Cache.Get] with a loader for this call. Concurrent calls for one key share one
// load, by the loader of the first, so all calls for a key should bring equivalent loaders. With a
// nil loader it is Get.
func (c Cache[K, V]) GetOrLoad(ctx context.Context, k K, load Loader[K, V], opts ...Option) (V, error) {
	r, err := c.Fetch(ctx, k, load, opts...)
	return r.Value, err
}

// Fetch is [Cache.GetOrLoad] with a Result that says where the value came from.
func (c Cache[K, V]) Fetch(ctx context.Context, k K, load Loader[K, V], opts ...Option) (Result[V], error) {
	if c.s == nil {
		return Result[V]{}, errZero("get")
	}
	found := true
	if takesHit(c.v, opts) { // collect would cost a hit a quarter more
		now := c.v.Core.Now()
		it, lease, n := c.hit(c.slot(k), k, now)
		if it != nil {
			r := engine.Found(ctx, c.v, &it.e, lease, n, now)
			return c.result(&r), it.e.Err
		}
		found = n != 0
	}
	o, err := collect(ctx, c.v, opts, ofLoader(load))
	if err != nil {
		return Result[V]{}, c.fail("get", k, fault.WrongUse(err))
	}
	return c.fetch(ctx, "get", k, load, &o, found)
}

// fetch reads a key, or loads it. Found reports whether this process may hold a value that can be served.
func (c Cache[K, V]) fetch(ctx context.Context, op string, k K, load Loader[K, V], o *resident.Options, found bool) (Result[V], error) {
	var a engine.Ask
	if err := a.Start(ctx, c.v, op, c.slot(k), anyOf(load), o); err != nil {
		return Result[V]{}, c.fail(op, k, err)
	}
	r, err := a.Read(ctx, c.asked(k), found)
	a.Report(ctx, &r, err)
	return c.result(&r), err
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
		c.v.Inherit(ctx, &it.e, lease)
		return c.valueOf(it), it.e.Err == nil
	}
	var j resident.Job
	if err := c.changes(&j, "peek", k, &resident.AnyAge); err != nil {
		return zero, false
	}
	it := engine.Peek(ctx, &j, c.asked(k))
	if it == nil {
		return zero, false
	}
	return c.value(it), it.Err == nil
}
