package cache

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// SetMany is [Cache.Set] for every key of vals. It makes three calls to the remote tier and one
// append to the log, or two if another process holds some of the keys. Each call takes one round
// trip per node for a thousand keys. The promises of Set hold for each key. The keys do not change
// together.
//
// If some keys failed, the error is a [*BatchError] that names them; the others are set. If the
// whole call failed, the error is an [*Error], and nothing was done. An empty map is no error.
// The map is not kept.
func (c Cache[K, V]) SetMany(ctx context.Context, vals map[K]V, opts ...Option) error {
	const op = "set many"
	o, err := collectSet(c.v, opts)
	switch unusable := c.unusable(op); {
	case unusable != nil:
		return unusable
	case err != nil:
		return &Error{Op: op, Key: c.v.name, Err: wrongUse(err)}
	}
	sets, errs := make([]setting, 0, len(vals)), map[K]error{}
	for k, v := range vals {
		sets = append(sets, setting{})
		if err := c.start(ctx, &sets[len(sets)-1], op, k, v, o); err != nil {
			sets, errs[k] = sets[:len(sets)-1], err
		}
	}
	if len(sets) > 0 {
		setAll(ctx, sets)
	}
	for i := range sets {
		if s := &sets[i]; s.err != nil {
			errs[itemOf[K, V](s.it).key] = s.j.fail(s.err)
		}
	}
	return KeyErrors(errs)
}

// DeleteMany invalidates keys in one step, as [Cache.Delete] does for one: one record in the log
// covers all of them. The same step may invalidate more scopes. Keys may repeat and are not
// kept.
//
// The [*BatchError] names the keys that cannot be spelled and those that could not be reached.
// The others are invalidated. If the whole call failed, the error is an [*Error]. If one of the
// scopes is refused, nothing was done. No keys and no scopes are no error.
func (c Cache[K, V]) DeleteMany(ctx context.Context, keys []K, more ...invalidate.Scope) error {
	const op = "delete many"
	if err := c.unusable(op); err != nil {
		return err
	}
	r, err := follow.NewRequest(more...)
	if err != nil {
		return &Error{Op: op, Key: c.v.name, Err: err}
	}
	jobs, errs := make(map[K]*job, len(keys)), map[K]error{}
	r.Removed = c.v.far == nil && len(r.Keys()) == 0 // there are no cells
	for _, k := range keys {
		if jobs[k] != nil || errs[k] != nil {
			continue
		}
		j := new(job)
		if err := c.changes(j, op, k, &anyAge); err != nil {
			errs[k] = err
			continue
		}
		jobs[k] = j
		r.Scopes = append(r.Scopes, invalidate.Key(j.full))
	}
	if len(r.Scopes) == 0 {
		return KeyErrors(errs)
	}
	err = c.v.t.request(ctx, c.v.policy().RemoteTimeout, r)
	told, failed := err == nil, failedKeys(err)
	for k, j := range jobs {
		if failed(j.FullKey()) {
			errs[k], told = j.fail(err), true
		} else {
			j.t.local.Delete(j.at) // only to give the memory back
		}
	}
	if !told { // the error is about the scopes in more
		return errors.Join(&Error{Op: op, Key: c.v.name, Err: err}, KeyErrors(errs))
	}
	return KeyErrors(errs)
}

// unusable returns why every call of the handle fails, or nil.
func (c Cache[K, V]) unusable(op string) error {
	switch {
	case c.s == nil:
		return errZero(op)
	case c.v.t.work.Closed():
		return &Error{Op: op, Key: c.v.name, Err: ErrClosed}
	case c.v.err != nil:
		return &Error{Op: op, Key: c.v.name, Err: c.v.err}
	}
	return nil
}

// failedKeys returns a function that reports whether an error of a call for many keys is about a
// key.
func failedKeys(err error) func(key string) bool {
	e, ok := errors.AsType[*tier.KeysError](err)
	if !ok {
		return func(string) bool { return err != nil }
	}
	failed := make(map[string]struct{}, len(e.Keys))
	for _, k := range e.Keys {
		failed[k] = struct{}{}
	}
	return func(key string) bool { _, is := failed[key]; return is }
}
