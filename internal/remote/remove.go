package remote

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// maxRefusals bounds how often hold retries cells that other processes claim meanwhile.
const maxRefusals = 8

var errHoldRefused = errors.New("cache: other processes keep claiming the cells to be held")

// Remove removes cells. With hold, it stores a hold cell in their place, which keeps others from
// storing a value there for that long. It continues after a failure, so keys on a hanging node do
// not block the others. Its error is a [*tier.KeysError].
func (t *Tier) Remove(ctx context.Context, timeout time.Duration, keys []string, hold time.Duration) error {
	var failed []string
	var errs []error
	for some := range slices.Chunk(keys, maxKeys) {
		bad, err := t.remove(ctx, timeout, some, hold)
		if err != nil {
			failed, errs = append(failed, bad...), append(errs, err)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &tier.KeysError{Keys: failed, Err: errors.Join(errs...)}
}

// remove is Remove for as many cells as one command takes. It returns the keys that failed, and
// why.
func (t *Tier) remove(ctx context.Context, timeout time.Duration, keys []string, hold time.Duration) (failed []string, err error) {
	err = t.unlink(ctx, timeout, keys)
	if err != nil {
		failed = keys
		if e, ok := errors.AsType[*tier.KeysError](err); ok {
			failed, err = e.Keys, e.Err
		}
	}
	if hold == 0 || len(failed) == len(keys) {
		return failed, err
	}
	gone := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(failed, k) })
	if herr := t.hold(ctx, timeout, gone, hold); herr != nil {
		return keys, errors.Join(err, herr)
	}
	return failed, err
}

// hold keeps cells that were just removed from being filled. A process that has claimed one of them
// since then loses its claim: it may be loading a value that must not be stored.
func (t *Tier) hold(ctx context.Context, timeout time.Duration, keys []string, d time.Duration) error {
	seen := make(map[string]tier.Nonce)
	for range maxRefusals {
		claims, fills := make([]tier.Claim, len(keys)), make([]tier.Fill, len(keys))
		for i, k := range keys {
			n := tier.NewNonce()
			claims[i] = tier.Claim{Seen: seen[k], Nonce: n, Lease: d}
			fills[i] = tier.Fill{Nonce: n, Cell: tier.HoldCell(tier.NewNonce()), TTL: d}
		}
		got, err := t.ClaimMany(ctx, timeout, keys, claims)
		if err != nil {
			return err
		}
		var granted, refused []string
		var signs []tier.Fill
		for i, k := range keys {
			switch _, nonce := tier.Head(got[i].Cell); {
			case got[i].Granted:
				granted, signs = append(granted, k), append(signs, fills[i])
			case !nonce.IsZero():
				seen[k] = nonce
				refused = append(refused, k)
			} // otherwise another hold stands there
		}
		if len(granted) > 0 {
			if _, err := t.FillMany(ctx, timeout, granted, signs); err != nil {
				return err
			}
		}
		if keys = refused; len(keys) == 0 {
			return nil
		}
	}
	return errHoldRefused
}
