package cache

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// Expire makes k stale without removing it, as [Tiers.Expire] does for the key. Expiring a key
// that is not cached is no error.
func (c Cache[K, V]) Expire(ctx context.Context, k K) error {
	var j job
	if err := c.changes(&j, "expire", k, &anyAge); err != nil {
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
	if keys := r.Keys(); far != nil && len(keys) > 0 {
		err = errors.Join(err, unreached(t.expireCells(ctx, p, far, keys)))
	}
	return err
}

// expireCells rewrites the cells of keys as stale, for processes without a log. It does so under
// refresh claims, so a concurrent refresh or load wins. It makes three calls for all keys. A key
// whose node fails does not stop the others.
func (t *Tiers) expireCells(ctx context.Context, p *policy.Policy, far *remote.Tier, keys []string) error {
	raw, readErr := far.GetMany(ctx, p.RemoteTimeout, keys)
	now := time.Now().UnixMilli()
	var of []string
	var cells []tier.Cell
	var claims []tier.Claim
	for i := range raw {
		cell, err := tier.ParseCell(raw[i])
		if err != nil || cell.Kind != tier.Value || cell.SoftAt <= now {
			continue // no process serves it as fresh
		}
		of, cells = append(of, keys[i]), append(cells, cell)
		claims = append(claims, tier.Claim{Seen: cell.Nonce, Nonce: tier.NewNonce(), Lease: t.cfg.ClaimTTL, Refresh: true})
	}
	if len(of) == 0 {
		return readErr
	}
	got, claimErr := far.ClaimMany(ctx, p.RemoteTimeout, of, claims)
	var granted []string
	var fills []tier.Fill
	var errs []error
	for i := range of {
		if !got[i].Granted {
			continue
		}
		fill, err := staleCell(&cells[i], claims[i].Nonce, now, p)
		granted, fills, errs = append(granted, of[i]), append(fills, fill), append(errs, err)
	}
	if len(granted) > 0 {
		// Without the caller's context: the claims are taken, and others wait for them.
		_, err := far.FillMany(context.WithoutCancel(ctx), p.RemoteTimeout, granted, fills)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, readErr, claimErr)...)
}

// staleCell returns the fill that makes a cell stale. After an error, the fill gives the claim back.
// A value without a TTL has no Stale time of its own, so it gets the policy's.
func staleCell(cell *tier.Cell, claim tier.Nonce, now int64, p *policy.Policy) (tier.Fill, error) {
	keep := since(cell.HardAt, cell.SoftAt).Milliseconds() // HardAt may be math.MaxInt64
	if cell.SoftAt == math.MaxInt64 {
		m := termsOf(cell)
		_, hard := m.grace(p)
		keep = hard.Milliseconds()
	}
	cell.Nonce, cell.RefreshUntil = claim, 0
	cell.SoftAt, cell.HardAt = now, min(cell.HardAt, now+keep)
	b, err := cell.Encode()
	if err != nil {
		return tier.Fill{Nonce: claim}, err
	}
	left := min(lifetimes.Add(max(since(cell.HardAt, now), time.Millisecond), cell.Keep), remoteForever)
	return tier.Fill{Nonce: claim, Cell: b, TTL: left}, nil
}

// expire notes when the item's freshness ended. The earliest such time counts.
func (it *entry) expire(at int64) {
	for {
		old := it.ended.Load()
		if old != 0 && old <= at+1 || it.ended.CompareAndSwap(old, at+1) {
			return
		}
	}
}

// wear makes a loaded item stale from its birth. No hit then takes the fast path for it.
func (it *entry) wear() {
	it.own().worn = true
	it.softUntil = it.loadedAt
	it.expire(it.loadedAt)
	it.clearAt.Store(expired)
}

// isWorn reports whether an Expire has ended the freshness of the item, or of a part of it.
func (it *entry) isWorn() bool { return it.worn || it.ended.Load() != 0 }

// times returns the times until which the item is fresh, is served while a refresh runs, and is
// served in place of a failed load. An Expire makes all three earlier.
func (it *entry) times() (soft, stale, hard int64) {
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

func (it *entry) freshUntil() int64 {
	soft, _, _ := it.times()
	return soft
}
