package cache

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/engine"
	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/resident"
	"github.com/twofold-go/twofold/invalidate"
)

// SetMany is [Cache.Set] for every key of vals. It makes three calls to the remote tier and one
// append to the log, or two if another process holds some of the keys. Each call takes one round
// trip per node for a thousand keys. More than 10,000 keys are set in parts, one after the other. The
// promises of Set hold for each key. The keys do not change atomically.
//
// If some keys failed, the error is a [*BatchError] that names them; the others are set. If the
// whole call failed, the error is an [*Error], and nothing was done. An empty map is not an error.
// The map is not kept.
func (c Cache[K, V]) SetMany(ctx context.Context, vals map[K]V, opts ...Option) error {
	const op = "set many"
	o, err := collectSet(ctx, c.v, opts)
	switch unusable := c.unusable(op); {
	case unusable != nil:
		return unusable
	case err != nil:
		return &Error{Op: op, Key: c.v.Name, Err: fault.WrongUse(err)}
	}
	sets, errs := make([]engine.Setting, 0, len(vals)), map[K]error{}
	for k, v := range vals {
		sets = append(sets, engine.Setting{})
		if err := c.start(ctx, &sets[len(sets)-1], op, k, v, &o); err != nil {
			sets, errs[k] = sets[:len(sets)-1], err
		}
	}
	if len(sets) > 0 {
		engine.SetAll(ctx, sets)
	}
	for i := range sets {
		if err := sets[i].Result(); err != nil {
			errs[itemOf[K, V](sets[i].It).key] = err
		}
	}
	return KeyErrors(errs)
}

// DeleteMany invalidates keys in one step, as [Cache.Delete] does for one: one record in the log
// covers all of them. The same step may invalidate more scopes. Keys may repeat and are not
// kept.
//
// The [*BatchError] names the keys that cannot be spelled and those that could not be reached.
// The others are invalidated.
// If the whole call failed, the error is an [*Error]. If a part of a large call failed that holds
// other scopes, the error wraps both. If the BatchError names all keys, the other scopes may have
// failed, too. If one of the scopes is refused, nothing was done. It is not an error to pass no keys
// and no scopes.
func (c Cache[K, V]) DeleteMany(ctx context.Context, keys []K, more ...invalidate.Scope) error {
	const op = "delete many"
	if err := c.unusable(op); err != nil {
		return err
	}
	jobs, named, errs := make([]*resident.Job, 0, len(keys)), make([]K, 0, len(keys)), map[K]error{}
	seen := make(map[K]struct{}, len(keys))
	for _, k := range keys {
		if _, again := seen[k]; again {
			continue
		}
		seen[k] = struct{}{}
		j := new(resident.Job)
		if err := c.changes(j, op, k, &resident.AnyAge); err != nil {
			errs[k] = err
			continue
		}
		jobs, named = append(jobs, j), append(named, k)
	}
	err := c.v.Delete(ctx, jobs, more, func(i int, err error) { errs[named[i]] = err })
	if err == nil {
		return KeyErrors(errs)
	}
	err = &Error{Op: op, Key: c.v.Name, Err: err} // about the scopes in more
	if len(errs) > 0 {
		err = errors.Join(err, KeyErrors(errs))
	}
	return err
}

// unusable returns why every call of the handle fails, or nil.
func (c Cache[K, V]) unusable(op string) error {
	if c.s == nil {
		return errZero(op)
	}
	if err := c.v.Unusable(); err != nil {
		return &Error{Op: op, Key: c.v.Name, Err: err}
	}
	return nil
}
