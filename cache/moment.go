package cache

import (
	"context"
	"time"

	"github.com/twofold-go/twofold/internal/engine"
)

// Moment is one reading of the clock for many reads. A local hit of a hot key spends half of its
// time on the clock. A program that reads many keys for one request can take a Moment when the request
// begins, and read through [Cache.At]:
//
//	m := cache.Now()
//	u, err := users.At(m).Get(ctx, 42)
//	o, err := orders.At(m).Get(ctx, 7)
//
// Such a read treats the Moment as the present. The bound of guarantee 10, the lifetimes and
// [MaxAge] count from the Moment, not from the call, so a Moment should not outlive its request.
// Invalidations by this process still take effect immediately.
//
// A Moment is a small value, valid for every Tiers of the process. With the zero Moment, each
// call reads the clock.
type Moment struct{ at time.Time }

// Now returns the present moment.
func Now() Moment { return Moment{time.Now()} }

// Reader reads a cache as of a [Moment]. It is a small value. Make one with [Cache.At];
// every method of the zero Reader fails. All methods may be called concurrently.
type Reader[K comparable, V any] struct {
	c      Cache[K, V]
	moment int64 // 0 means none
}

// At returns a Reader of the cache as of m.
func (c Cache[K, V]) At(m Moment) Reader[K, V] {
	if c.s == nil || m.at.IsZero() {
		return Reader[K, V]{c: c}
	}
	return Reader[K, V]{c, c.v.Moment(m.at)}
}

// Get is [Cache.Get] as of the Moment. A local hit does not read the clock. Values that this
// process does not hold are fetched and loaded at the time of the call.
func (r Reader[K, V]) Get(ctx context.Context, k K) (V, error) { // repeats Cache.Get, to save a frame
	c := r.c
	if c.s == nil {
		var zero V
		return zero, errZero("get")
	}
	at := c.slot(k)
	it, lease, n := c.hit(at, k, r.moment)
	if it == nil {
		return c.miss(ctx, k, at, n != 0)
	}
	c.v.Inherit(ctx, &it.e, lease)
	if n != 0 {
		engine.Told(ctx, c.v, &it.e, n, r.moment == 0)
	}
	return c.valueOf(it), it.e.Err
}

// GetMany is [Cache.GetMany] as of the Moment.
func (r Reader[K, V]) GetMany(ctx context.Context, keys []K, opts ...Option) (map[K]V, error) {
	return r.c.getMany(ctx, keys, r.moment, opts)
}
