package cache

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// Delete invalidates k, as [Tiers.Invalidate] does. Deleting what is not there
// is no error. More scopes may be invalidated in the same step, and
// invalidate.Strict or invalidate.Hold may be among them.
func (c Cache[K, V]) Delete(ctx context.Context, k K, more ...invalidate.Scope) error {
	j, err := c.change("delete", k)
	if err != nil {
		return err
	}
	if err := j.t.invalidate(ctx, j.p.RemoteTimeout, append([]invalidate.Scope{invalidate.Key(j.full)}, more...)...); err != nil {
		return j.fail(err)
	}
	j.t.local.Delete(j.at) // only to give the memory back
	return nil
}

// DeleteAll invalidates every key of the handle's tenant and namespace. It
// takes the same time whether there is one or a million: it is
// invalidate.Prefix of "tenant:namespace:". More scopes may be invalidated in
// the same step, as with [Cache.Delete].
func (c Cache[K, V]) DeleteAll(ctx context.Context, more ...invalidate.Scope) error {
	if c.s == nil {
		return errZero("delete all")
	}
	err := c.v.err
	if err == nil {
		err = c.s.t.invalidate(ctx, c.v.policy().RemoteTimeout,
			append([]invalidate.Scope{invalidate.Prefix(c.v.space.Prefix())}, more...)...)
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
	timeout := t.policies.Load().For(policy.Default(), "", "").RemoteTimeout
	if err := t.invalidate(ctx, timeout, scopes...); err != nil {
		name := fmt.Sprintf("%d scopes", len(scopes))
		if len(scopes) == 1 {
			name = scopes[0].String()
		}
		return &Error{Op: "invalidate", Key: name, Err: err}
	}
	return nil
}

func (t *Tiers) invalidate(ctx context.Context, timeout time.Duration, scopes ...invalidate.Scope) error {
	if t.work.Closed() {
		return ErrClosed
	}
	r, err := follow.NewRequest(scopes...)
	if err != nil {
		return err
	}
	ctx, end := t.seen.invalidateStart(ctx, len(r.Scopes))
	before := t.registrations()
	err = t.spread(ctx, timeout, r)
	t.forget(r.Scopes, before)
	for _, s := range r.Scopes {
		t.all.inc(invalidatedKeys + stat(s.Kind()-invalidate.KindKey))
	}
	end(err)
	return err
}

// spread applies a request here and tells everybody else, as far as there is a
// way to.
func (t *Tiers) spread(ctx context.Context, timeout time.Duration, r follow.Request) error {
	if t.follower != nil {
		return t.follower.Invalidate(ctx, r)
	}
	// The cells go first: a fetch that begins after the fence must not find
	// what the fence is about.
	var err error
	if !r.Removed {
		err = t.remove(ctx, timeout, r.Keys(), r.Hold)
	}
	t.fences.Apply(r)
	return err
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

// Expire ends the freshness of k, but not its life: the next read treats it as
// stale, serves it as far as the policy's Stale and StaleIfError go, and loads
// it anew. Other processes learn of it when they ask the remote tier. Expiring
// what is not there is no error.
func (c Cache[K, V]) Expire(ctx context.Context, k K) error {
	j, err := c.change("expire", k)
	if err != nil {
		return err
	}
	if it := j.find(j.at, k); it != nil {
		j.expireLocal(it)
	}
	if j.t.remote == nil {
		return nil
	}
	if err := j.expireRemote(ctx); err != nil {
		return j.fail(err)
	}
	return nil
}

func (j *job[K, V]) expireLocal(it *item[K, V]) {
	now := j.t.now()
	n := it.again(now, lifetime{stale: j.p.Stale, hard: policy.Add(j.p.Stale, j.p.StaleIfError)})
	if n.err != nil {
		n.hardUntil = now
	}
	n.hardUntil = min(n.hardUntil, it.hardUntil)
	n.staleUntil = min(n.staleUntil, n.hardUntil)
	n.trustTo(n.softUntil)
	j.put(n)
}

// expireRemote rewrites the cell under a refresh claim, so that a refresh or a
// load that runs meanwhile wins.
func (j *job[K, V]) expireRemote(ctx context.Context) error {
	mark := j.t.fences.Capture()
	raw, err := j.t.remote.Get(ctx, new(scope.Deadline), j.p.RemoteTimeout, j.text)
	if err != nil {
		return err
	}
	f := j.judge(raw, mark)
	if f.verdict != usable {
		return nil
	}
	claim := tier.Claim{Seen: f.nonce, Nonce: tier.NewNonce(), Lease: j.t.cfg.ClaimTTL, Refresh: true}
	got, err := j.claimCell(ctx, claim)
	if err != nil || !got.Granted {
		return err
	}
	cell, err := tier.ParseCell(raw)
	if err != nil {
		return err
	}
	wall := time.Now()
	hard := wall.Add(policy.Add(j.p.Stale, j.p.StaleIfError)).UnixMilli()
	cell.Nonce = claim.Nonce
	cell.SoftAt = wall.UnixMilli()
	cell.HardAt = min(cell.HardAt, hard)
	cell.RefreshUntil = 0
	b, err := cell.Encode()
	if err != nil {
		return err
	}
	keep := max(time.Duration(cell.HardAt-wall.UnixMilli())*time.Millisecond, time.Millisecond)
	_, err = j.fillCell(ctx, tier.Fill{Nonce: claim.Nonce, Cell: b, TTL: keep})
	return err
}

// claimCell and fillCell claim and fill the cell of a key that is changed.
func (j *job[K, V]) claimCell(ctx context.Context, c tier.Claim) (tier.Claimed, error) {
	got, err := j.t.remote.ClaimMany(ctx, j.p.RemoteTimeout, []string{j.text}, []tier.Claim{c})
	return got[0], err
}

// The caller's context is not asked: the record is written, and others wait.
func (j *job[K, V]) fillCell(ctx context.Context, f tier.Fill) (bool, error) {
	ok, err := j.t.remote.FillMany(context.WithoutCancel(ctx), j.p.RemoteTimeout, []string{j.text}, []tier.Fill{f})
	return ok[0], err
}
