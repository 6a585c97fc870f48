package resident

import (
	"context"
	"errors"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// Expire makes everything that the scopes cover stale without removing it.
func (t *Core) Expire(ctx context.Context, scopes ...invalidate.Scope) error {
	p := t.defaults()
	return t.expire(ctx, &p, t.remote, scopes...)
}

// ExpireKey makes the job's key stale.
func (j *Job) ExpireKey(ctx context.Context) error {
	if err := j.Core.expire(ctx, j.Policy, j.Far(), invalidate.Key(j.Full)); err != nil {
		return j.Fail(err)
	}
	return nil
}

func (t *Core) expire(ctx context.Context, p *policy.Policy, far *remote.Tier, scopes ...invalidate.Scope) error {
	r, err := fence.NewRequest(scopes...)
	r.Soft = true
	if err != nil {
		return err
	}
	err = t.request(ctx, p.RemoteTimeout, r)
	if t.Follower != nil {
		return err
	}
	if keys := r.Keys(); far != nil && len(keys) > 0 {
		err = errors.Join(err, Unreached(t.expireCells(ctx, p, far, keys)))
	}
	return err
}

// expireCells rewrites the cells of keys as stale, for processes without a log. It does so under
// refresh claims, so a concurrent refresh or load wins. It makes three calls for all keys. A key
// whose node fails does not stop the others.
func (t *Core) expireCells(ctx context.Context, p *policy.Policy, far *remote.Tier, keys []string) error {
	raw, readErr := far.GetMany(ctx, p.RemoteTimeout, keys)
	now := time.Now().UnixMilli()
	var of []string
	var cells []tier.Cell
	var claims []tier.Claim
	for i := range raw {
		cell, err := t.seal.Parse(raw[i], keys[i])
		if err != nil || cell.Kind != tier.KindValue || cell.SoftAt <= now {
			continue // no process serves it as fresh
		}
		of, cells = append(of, keys[i]), append(cells, cell)
		claims = append(claims, tier.Claim{Seen: cell.Nonce, Nonce: tier.NewNonce(), Lease: t.Config.ClaimTTL, Refresh: true})
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
		fill, err := t.seal.StaleCell(of[i], &cells[i], claims[i].Nonce, now, p)
		granted, fills, errs = append(granted, of[i]), append(fills, fill), append(errs, err)
	}
	if len(granted) > 0 {
		// Without the caller's context: the claims are taken, and others wait for them.
		_, err := far.FillMany(context.WithoutCancel(ctx), p.RemoteTimeout, granted, fills)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, readErr, claimErr)...)
}
