package cache

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// Expire makes k stale without removing it, as [Tiers.Expire] does for the key. Expiring a key
// that is not cached is no error.
func (c Cache[K, V]) Expire(ctx context.Context, k K) error {
	var j job[K, V]
	if err := j.changes(c, "expire", k); err != nil {
		return err
	}
	if err := j.t.expire(ctx, j.p, j.far(), invalidate.Key(j.full)); err != nil {
		return j.fail(err)
	}
	return nil
}

// Expire makes everything that the scopes cover stale without removing it. A stale value is
// served for the policy's Stale and StaleIfError, counted from now, while a background load
// replaces it. If both are zero, the next read loads. (For the cell of a key in the remote tier
// whose TTL is Forever, the default policy counts, not the namespace's; [Cache.Expire] knows it.)
// If a value expires several times, the time counts from the last Expire, or from one that a read
// in this process has already noticed. If an invalidation covers the value too, the value is gone,
// in either order.
//
// When Expire returns nil, this holds for every later read in this process. In another process
// that follows the same log, it holds after the log's bound. A value that is built from a stale
// value is stale itself. Without a log, keys expire in the remote tier for all processes, and
// prefixes and tags only in this process.
//
// The errors are those of [Tiers.Invalidate]. An Expire that waits for the log may become an
// invalidation. Expire refuses invalidate.Strict and invalidate.Hold, because no call waits
// until stale values end.
func (t *Tiers) Expire(ctx context.Context, scopes ...invalidate.Scope) error {
	if err := t.check(); err != nil {
		return &Error{Op: "expire", Key: "-", Err: err}
	}
	p := t.defaults()
	if err := t.expire(ctx, &p, t.remote, scopes...); err != nil {
		return &Error{Op: "expire", Key: nameOf(scopes), Err: err}
	}
	return nil
}

func (t *Tiers) expire(ctx context.Context, p *policy.Policy, far *remote.Tier, scopes ...invalidate.Scope) error {
	r, err := follow.NewExpiry(scopes...)
	if err != nil {
		return err
	}
	err = t.request(ctx, p.RemoteTimeout, r)
	if t.follower != nil {
		return err
	}
	for _, k := range r.Keys() {
		err = errors.Join(err, unreached(t.expireCell(ctx, p, far, k)))
	}
	return err
}

// expireCell rewrites a key's cell as stale, for processes without a log. It does so under a
// refresh claim, so a concurrent refresh or load wins. A value without a TTL has no Stale time
// of its own, so it gets the policy's.
func (t *Tiers) expireCell(ctx context.Context, p *policy.Policy, far *remote.Tier, text string) error {
	if far == nil {
		return nil
	}
	raw, err := far.Get(ctx, new(scope.Deadline), p.RemoteTimeout, text)
	if err != nil || len(raw) == 0 {
		return err
	}
	cell, err := tier.ParseCell(raw)
	now := time.Now().UnixMilli()
	if err != nil || cell.Kind != tier.Value || cell.SoftAt <= now {
		return nil //nolint:nilerr // an unreadable cell is not served
	}
	claim := tier.Claim{Seen: cell.Nonce, Nonce: tier.NewNonce(), Lease: t.cfg.ClaimTTL, Refresh: true}
	got, err := far.ClaimMany(ctx, p.RemoteTimeout, []string{text}, []tier.Claim{claim})
	if err != nil || !got[0].Granted {
		return err
	}
	keep := since(cell.HardAt, cell.SoftAt).Milliseconds() // HardAt may be math.MaxInt64
	if cell.SoftAt == math.MaxInt64 {
		m := termsOf(&cell)
		_, hard := m.grace(p)
		keep = hard.Milliseconds()
	}
	cell.Nonce, cell.RefreshUntil = claim.Nonce, 0
	cell.SoftAt, cell.HardAt = now, min(cell.HardAt, now+keep)
	b, err := cell.Encode()
	if err != nil {
		return err
	}
	left := min(lifetimes.Add(max(since(cell.HardAt, now), time.Millisecond), cell.Keep), remoteForever)
	// Without the caller's context: the claim is taken, and others wait for it.
	_, err = far.FillMany(context.WithoutCancel(ctx), p.RemoteTimeout, []string{text},
		[]tier.Fill{{Nonce: claim.Nonce, Cell: b, TTL: left}})
	return err
}

// expire notes when the item's freshness ended. The earliest such time counts.
func (it *item[K, V]) expire(at int64) {
	for {
		old := it.ended.Load()
		if old != 0 && old <= at+1 || it.ended.CompareAndSwap(old, at+1) {
			return
		}
	}
}

// wear makes a loaded item stale from its birth. No hit then takes the fast path for it.
func (it *item[K, V]) wear() {
	it.own().worn = true
	it.softUntil = it.loadedAt
	it.expire(it.loadedAt)
	it.clearAt.Store(expired)
}

// isWorn reports whether an Expire has ended the freshness of the item, or of a part of it.
func (it *item[K, V]) isWorn() bool { return it.worn || it.ended.Load() != 0 }

// times returns the times until which the item is fresh, is served while a refresh runs, and is
// served in place of a failed load. An Expire makes all three earlier.
func (it *item[K, V]) times() (soft, stale, hard int64) {
	soft, stale, hard = it.softUntil, it.staleUntil, it.hardUntil
	ended := it.ended.Load()
	if ended == 0 || ended > soft {
		return soft, stale, hard
	}
	grace, keep := time.Duration(stale-soft), time.Duration(hard-soft)
	switch {
	case soft != never:
	case it.err == nil:
		grace, keep = it.said().grace(it.view.policy())
	default:
		grace, keep = 0, 0
	}
	at := ended - 1
	return at, min(stale, after(at, grace)), min(hard, after(at, keep))
}

func (it *item[K, V]) freshUntil() int64 {
	soft, _, _ := it.times()
	return soft
}
