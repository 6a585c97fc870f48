package remote

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// maxRefusals is how often cells are claimed to be held that others claim meanwhile.
const maxRefusals = 8

var errHoldRefused = errors.New("cache: others go on claiming what is to be held")

// Remove removes cells and, with hold, puts up signs in their place that keep others from
// storing anything there for so long. It goes on after a failure, so that keys on a node
// that hangs do not keep the others. Its error is a [*tier.KeysError].
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

// remove is Remove for as many cells as one command takes. It returns the keys that
// failed, and why.
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

// hold keeps cells that were just removed from being filled. Whoever has
// claimed one since then loses his claim: he may be loading what is not to be
// stored.
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
			} // else somebody else's hold stands there
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
