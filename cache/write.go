package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// Delete invalidates k, as [Tiers.Invalidate] does. Deleting a key that is not cached is no
// error. The same step may invalidate more scopes, with invalidate.Strict or invalidate.Hold
// among them.
func (c Cache[K, V]) Delete(ctx context.Context, k K, more ...invalidate.Scope) error {
	var j job
	if err := c.changes(&j, "delete", k, &anyAge); err != nil {
		return err
	}
	return j.delete(ctx, more...)
}

// delete invalidates the job's key, which is spelled.
func (j *job) delete(ctx context.Context, more ...invalidate.Scope) error {
	r, err := follow.NewRequest(append([]invalidate.Scope{invalidate.Key(j.full)}, more...)...)
	if err != nil {
		return j.fail(err)
	}
	r.Removed = j.v.far == nil && len(r.Keys()) == 1 // there is no cell
	if err := j.t.request(ctx, j.p.RemoteTimeout, r); err != nil {
		return j.fail(err)
	}
	j.t.local.Delete(j.at) // only to give the memory back
	return nil
}

// DeleteAll invalidates every key of the handle's tenant and namespace, as [Cache.All] covers
// them. It takes the same time for one key and for a million. The same step may invalidate more
// scopes, as with [Cache.Delete].
func (c Cache[K, V]) DeleteAll(ctx context.Context, more ...invalidate.Scope) error {
	if c.s == nil {
		return errZero("delete all")
	}
	err := c.v.err
	if err == nil {
		err = c.v.t.invalidate(ctx, c.v.policy().RemoteTimeout,
			append([]invalidate.Scope{c.All()}, more...)...)
	}
	if err != nil {
		return &Error{Op: "delete all", Key: c.v.name, Err: err}
	}
	return nil
}

// Invalidate invalidates everything that the scopes cover. When it returns nil, no later read in
// this process returns a value whose load began before. In another process that follows the same
// log, this holds after the log's bound, or at once with invalidate.Strict among the scopes.
// Without a log, keys are removed from the remote tier for all processes, and prefixes and tags
// count only in this process.
//
// Invalidate refuses a scope that is not valid before it does anything. If the log or the remote
// tier cannot be reached, it applies the scopes in this process and returns an error. With a log
// that error is an [*invalidate.PendingError], and the process retries in the background.
//
// Invalidate waits for the log until ctx ends or TiersConfig.InvalidateWait has passed. When the
// log has the invalidation, invalidate.Strict also waits for the bound. If the call returns a
// PendingError, it does not tell when the other processes know. To be sure, call Invalidate
// again.
func (t *Tiers) Invalidate(ctx context.Context, scopes ...invalidate.Scope) error {
	if err := t.check(); err != nil {
		return &Error{Op: "invalidate", Key: "-", Err: err}
	}
	if err := t.invalidate(ctx, t.defaults().RemoteTimeout, scopes...); err != nil {
		return &Error{Op: "invalidate", Key: nameOf(scopes), Err: err}
	}
	return nil
}

// defaults returns the policy of calls without a namespace.
func (t *Tiers) defaults() policy.Policy { return t.policies.Load().For(policy.Default(), "", "") }

func nameOf(scopes []invalidate.Scope) string {
	if len(scopes) == 1 {
		return scopes[0].String()
	}
	return fmt.Sprintf("%d scopes", len(scopes))
}

func (t *Tiers) invalidate(ctx context.Context, timeout time.Duration, scopes ...invalidate.Scope) error {
	if t.work.Closed() {
		return ErrClosed
	}
	r, err := follow.NewRequest(scopes...)
	if err != nil {
		return err
	}
	return t.request(ctx, timeout, r)
}

func (t *Tiers) request(ctx context.Context, timeout time.Duration, r follow.Request) error {
	t.noteStrangers(r.Scopes)
	ctx, end := t.seen.invalidateStart(ctx, len(r.Scopes))
	err := t.spread(ctx, timeout, r)
	t.countScopes(r)
	end(err)
	return err
}

// spread applies a request here and sends it to the other processes, if there is a way.
func (t *Tiers) spread(ctx context.Context, timeout time.Duration, r follow.Request) error {
	if t.follower != nil {
		err := t.follower.Invalidate(ctx, r)
		t.told(r)
		return unreached(err)
	}
	// The cells go first: a fetch that begins after the fence must not find a cell that the
	// fence covers.
	var err error
	if !r.Removed && !r.Soft {
		err = unreached(t.remove(ctx, timeout, r.Keys(), r.Hold))
	}
	t.fences.ApplyWithin(ctx, r)
	t.told(r)
	return err
}

func (t *Tiers) countScopes(r follow.Request) {
	for _, s := range r.Scopes {
		if r.Soft {
			t.all.inc(scopesExpired)
		} else {
			t.all.inc(invalidatedKeys + stat(s.Kind()-invalidate.KindKey))
		}
	}
}

// Refresh loads k now and stores the result, even if a fresh value is cached. Reads get the
// cached value meanwhile, and also if the load fails, or if its result may not be stored. Refresh
// does not wait for a load of another process. If two processes refresh a key at once, the later
// result reaches the remote tier. Refresh returns the load's error, [ErrNotFound] included.
func (c Cache[K, V]) Refresh(ctx context.Context, k K) error {
	if c.s == nil {
		return errZero("refresh")
	}
	_, err := c.fetch(ctx, "refresh", k, nil, &options{callOpts: callOpts{noStale: true, anew: true}})
	return err
}
