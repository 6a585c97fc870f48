package cache

import (
	"context"

	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/invalidate"
)

// Delete invalidates k, as [Tiers.Invalidate] does. Deleting a key that is not cached is not an
// error. The same step may invalidate more scopes.
func (c Cache[K, V]) Delete(ctx context.Context, k K, more ...invalidate.Scope) error {
	var j resident.Job
	if err := c.changes(&j, "delete", k, &resident.AnyAge); err != nil {
		return err
	}
	return j.Delete(ctx, more...)
}

// DeleteAll invalidates every key of the handle's tenant and namespace, as [Cache.All] covers
// them. It takes the same time for one key and for a million. The same step may invalidate more
// scopes, as with [Cache.Delete].
func (c Cache[K, V]) DeleteAll(ctx context.Context, more ...invalidate.Scope) error {
	if c.s == nil {
		return errZero("delete all")
	}
	if err := c.v.DeleteAll(ctx, append([]invalidate.Scope{c.All()}, more...)...); err != nil {
		return &Error{Op: "delete all", Key: c.v.Name, Err: err}
	}
	return nil
}

// Expire makes k stale without removing it, as [Tiers.Expire] does for the key. Expiring a key
// that is not cached is not an error.
func (c Cache[K, V]) Expire(ctx context.Context, k K) error {
	var j resident.Job
	if err := c.changes(&j, "expire", k, &resident.AnyAge); err != nil {
		return err
	}
	return j.ExpireKey(ctx)
}

// Refresh loads k now and stores the result, even if a fresh value is cached. Reads get the
// cached value meanwhile, and also if the load fails or its result must not be stored. Refresh
// does not wait for a load of another process. If two processes refresh a key at the same time, the
// later result reaches the remote tier. Refresh returns the load's error, [ErrNotFound] included.
func (c Cache[K, V]) Refresh(ctx context.Context, k K) error {
	if c.s == nil {
		return errZero("refresh")
	}
	_, err := c.fetch(ctx, "refresh", k, nil, &resident.Options{CallOpts: resident.CallOpts{NoStale: true, Anew: true}}, true)
	return err
}
