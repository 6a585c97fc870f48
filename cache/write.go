package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

// Delete invalidates k, as [Tiers.Invalidate] does. Deleting what is not there
// is no error. More scopes may be invalidated in the same step, and
// invalidate.Strict or invalidate.Hold may be among them.
func (c Cache[K, V]) Delete(ctx context.Context, k K, more ...invalidate.Scope) error {
	j, err := c.change("delete", k)
	if err != nil {
		return err
	}
	r, err := follow.NewRequest(append([]invalidate.Scope{invalidate.Key(j.full)}, more...)...)
	if err != nil {
		return j.fail(err)
	}
	r.Removed = j.s.far == nil && len(r.Keys()) == 1 // there is no cell
	if err := j.t.request(ctx, j.p.RemoteTimeout, r); err != nil {
		return j.fail(err)
	}
	j.t.local.Delete(j.at) // only to give the memory back
	return nil
}

// DeleteAll invalidates every key of the handle's tenant and namespace, as
// [Cache.All] covers them. It takes the same time whether there is one or a million. More
// scopes may be invalidated in the same step, as with [Cache.Delete].
func (c Cache[K, V]) DeleteAll(ctx context.Context, more ...invalidate.Scope) error {
	if c.s == nil {
		return errZero("delete all")
	}
	err := c.v.err
	if err == nil {
		err = c.s.t.invalidate(ctx, c.v.policy().RemoteTimeout,
			append([]invalidate.Scope{c.All()}, more...)...)
	}
	if err != nil {
		return &Error{Op: "delete all", Key: c.v.name, Err: err}
	}
	return nil
}

// Invalidate makes everything the scopes cover untrue. When it returns nil, no
// read that starts afterwards in this process returns a value whose load began
// before; nor does one in any other process that follows the same log, a bound
// later or, with invalidate.Strict among the scopes, at once. Without a log,
// keys are removed from the remote tier for everybody, and prefixes and tags
// reach this process alone.
//
// A scope that cannot be used is refused before anything is done. When the log
// or the remote tier cannot be reached, the scopes are applied in this process
// and the error says so: an [*invalidate.PendingError] when there is a log,
// and then the invalidation goes on being tried in the background. Invalidate
// waits for the log until ctx ends or TiersConfig.InvalidateWait has passed. With
// invalidate.Strict it goes on to wait for the bound once the log has the
// invalidation. When it returns a PendingError instead, nothing says when the others
// know: to be sure, call it again.
func (t *Tiers) Invalidate(ctx context.Context, scopes ...invalidate.Scope) error {
	if err := t.check(); err != nil {
		return &Error{Op: "invalidate", Key: "-", Err: err}
	}
	if err := t.invalidate(ctx, t.defaults().RemoteTimeout, scopes...); err != nil {
		return &Error{Op: "invalidate", Key: nameOf(scopes), Err: err}
	}
	return nil
}

// defaults is the policy of what has no namespace.
func (t *Tiers) defaults() policy.Policy { return t.policies.Load().For(policy.Default(), "", "") }

// nameOf is how an error names scopes.
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

// spread applies a request here and tells everybody else, as far as there is a
// way to.
func (t *Tiers) spread(ctx context.Context, timeout time.Duration, r follow.Request) error {
	if t.follower != nil {
		err := t.follower.Invalidate(ctx, r)
		t.told(r)
		return unreached(err)
	}
	// The cells go first: a fetch that begins after the fence must not find
	// what the fence is about.
	var err error
	if !r.Removed && !r.Soft {
		err = unreached(t.remove(ctx, timeout, r.Keys(), r.Hold))
	}
	t.fences.Apply(r)
	t.told(r)
	return err
}

// countScopes counts what was asked for.
func (t *Tiers) countScopes(r follow.Request) {
	for _, s := range r.Scopes {
		if r.Soft {
			t.all.inc(scopesExpired)
		} else {
			t.all.inc(invalidatedKeys + stat(s.Kind()-invalidate.KindKey))
		}
	}
}

// Refresh loads k now, whatever is cached, and stores the result. Reads are
// served what is cached meanwhile, and go on being served it when the load
// fails. It returns the load's error, [ErrNotFound] included.
func (c Cache[K, V]) Refresh(ctx context.Context, k K) error {
	if c.s == nil {
		return errZero("refresh")
	}
	_, err := c.fetch(ctx, "refresh", k, nil, &callOpts{noStale: true, anew: true})
	return err
}
