package cache

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/engine"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/resident"
)

// GetMany returns the values of keys. It takes them from this process, then from the remote tier
// in one round trip per node. It loads the rest by LoadMany in chunks of MaxBatch, or by Load
// concurrently. Keys that do not exist are not in the map; that is not an error. Each key shares
// its flight with other calls. GetMany fetches and loads more than MaxFlights keys in parts, one
// after the other. The policy's SoftTimeout counts once for the call. LoadMany refreshes the stale
// keys of both tiers in chunks of MaxBatch.
//
// A partial result is not a failure. The map holds every value that was found. If some keys
// failed, the error is a [*BatchError] that names them. The map is never nil and belongs to the
// caller. Keys may repeat and are not kept.
func (c Cache[K, V]) GetMany(ctx context.Context, keys []K, opts ...Option) (map[K]V, error) {
	g := gathered[K, V]{vals: make(map[K]V, len(keys))}
	o, err := collect(ctx, c.v, opts, ofRead)
	switch {
	case c.s == nil:
		return g.vals, errZero("get many")
	case err != nil:
		return g.vals, &Error{Op: "get many", Key: c.v.Name, Err: fault.WrongUse(err)}
	}
	b := engine.NewBatch(ctx, c.v, &o)
	g.local(ctx, c, &b, keys)
	b.Run(ctx, func(e *resident.Entry, r engine.Answer, err error) { g.take(c, itemOf[K, V](e).key, r, err) })
	return g.vals, KeyErrors(g.errs)
}

// KeyErrors returns a [*BatchError] of the errors. A LoadMany returns it to report each key: its
// value is in the map, or its error is in errs, or it does not exist. An ErrNotFound in errs also
// means that the key does not exist. KeyErrors returns nil when there are no errors. It keeps the
// map.
func KeyErrors[K comparable](errs map[K]error) error {
	if len(errs) == 0 {
		return nil
	}
	return &BatchError[K]{Errs: errs}
}

// gathered holds the results of a GetMany so far.
type gathered[K comparable, V any] struct {
	vals map[K]V
	errs map[K]error
}

func (g *gathered[K, V]) add(k K, v V, err error) {
	switch {
	case err == nil:
		g.vals[k] = v
	case !errors.Is(err, fault.ErrNotFound):
		if g.errs == nil {
			g.errs = make(map[K]error)
		}
		g.errs[k] = err
	}
}

// local takes what this process holds, and leaves the other keys to the batch.
func (g *gathered[K, V]) local(ctx context.Context, c Cache[K, V], b *engine.Batch, keys []K) {
	seen := map[K]struct{}{} // keys without a value so far
	for _, k := range keys {
		at := c.slot(k)
		if b.Again(at) {
			if _, again := g.vals[k]; again {
				continue
			}
			if _, again := seen[k]; again {
				continue
			}
		}
		if b.AnyHit {
			if it, lease, n := c.hit(at, k, b.Called); it != nil {
				b.Hit(ctx, &it.e, lease, n)
				if it.e.Err == nil {
					g.vals[k] = c.valueOf(it)
					continue
				}
				seen[k] = struct{}{}
				g.add(k, c.valueOf(it), it.e.Err)
				continue
			}
		}
		seen[k] = struct{}{}
		if r, done, err := b.Ask(ctx, at, c.asked(k)); done {
			g.take(c, k, r, err)
		}
	}
}

// take adds what was found for a key.
func (g *gathered[K, V]) take(c Cache[K, V], k K, r engine.Answer, err error) {
	var v V
	if r.It != nil {
		v = c.value(r.It)
	}
	g.add(k, v, err)
}
