package redistier

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/tier"
)

// errLengths refuses a batch whose arguments do not match.
var errLengths = errors.New("batch of unequal lengths")

// Claim requests the right to load key; see [tier.Remote]. It is one EVALSHA. A zero Nonce returns
// [tier.ErrNonce].
func (t *Tier) Claim(ctx context.Context, key string, c tier.Claim) (got tier.Claimed, err error) {
	if err := t.ready(ctx, "claim"); err != nil {
		return got, err
	}
	if c.Nonce.IsZero() {
		return got, fail("claim", tier.ErrNonce)
	}
	defer rescue("claim", &err)
	got, err = claimed(t.run(ctx, t.prefix+key, claimCall(&c)))
	return got, t.fail("claim", err)
}

// Fill stores or releases a cell by compare-and-set; see [tier.Remote]. It is one EVALSHA. A zero
// Nonce returns [tier.ErrNonce], and a Cell of over [MaxCell] bytes returns ErrTooLarge.
// Lifetimes below 1 ms are 1 ms. A release reports whether the claim was still there.
func (t *Tier) Fill(ctx context.Context, key string, f tier.Fill) (ok bool, err error) {
	if err := t.ready(ctx, "fill"); err != nil {
		return false, err
	}
	if err := checkFill(&f); err != nil {
		return false, fail("fill", err)
	}
	defer rescue("fill", &err)
	ok, err = filled(t.run(ctx, t.prefix+key, fillCall(&f)))
	return ok, t.fail("fill", err)
}

// ClaimMany claims keys[i] by claims[i], by one EVALSHA for up to 128 keys; on a Cluster by one
// pipeline per node. When nodes fail, the answers of the other nodes are valid, and the error
// joins all failures.
func (t *Tier) ClaimMany(ctx context.Context, keys []string, claims []tier.Claim) ([]tier.Claimed, error) {
	const op = "claim many"
	ins := make([]invocation, len(claims))
	for i := range claims {
		if claims[i].Nonce.IsZero() {
			return make([]tier.Claimed, len(keys)), fail(op, tier.ErrNonce)
		}
		ins[i] = claimCall(&claims[i])
	}
	return writeMany(ctx, t, op, keys, ins, claimed)
}

// FillMany fills keys[i] with fills[i], by one EVALSHA for up to 128 keys or 1 MiB, and one more
// when some fills are releases; on a Cluster by one pipeline per node. When nodes fail, the
// answers of the other nodes are valid, and the error joins all failures.
func (t *Tier) FillMany(ctx context.Context, keys []string, fills []tier.Fill) ([]bool, error) {
	const op = "fill many"
	ins := make([]invocation, len(fills))
	for i := range fills {
		if err := checkFill(&fills[i]); err != nil {
			return make([]bool, len(keys)), fail(op, err)
		}
		ins[i] = fillCall(&fills[i])
	}
	return writeMany(ctx, t, op, keys, ins, filled)
}

func writeMany[T any](ctx context.Context, t *Tier, op string, keys []string, ins []invocation, read func(any, error) (T, error)) ([]T, error) {
	out := make([]T, len(keys))
	if len(keys) != len(ins) {
		return out, fail(op, fmt.Errorf("%w: %d keys, %d requests", errLengths, len(keys), len(ins)))
	}
	if err := t.ready(ctx, op); err != nil || len(keys) == 0 {
		return out, err
	}
	var errs joined
	for i, a := range t.runMany(ctx, t.cellKeys(keys), ins) {
		v, err := read(a.reply, a.err)
		if err != nil {
			errs.add(t.fail(op, err))
			continue
		}
		out[i] = v
	}
	return out, errs.err()
}

func claimCall(c *tier.Claim) invocation {
	seen, mode := c.Seen[:], "c"
	if c.Seen.IsZero() {
		seen = nil
	}
	if c.Refresh {
		mode = "r"
	}
	return invocation{script: claimScript, args: []any{seen, c.Nonce[:], lifetimes.Millis(c.Lease), mode}}
}

func fillCall(f *tier.Fill) invocation {
	if len(f.Cell) == 0 {
		return invocation{script: releaseScript, args: []any{f.Nonce[:]}}
	}
	script := fillScript
	if safeguard.Off(safeguard.CAS) {
		script = storeScript
	}
	return invocation{script: script, args: []any{f.Nonce[:], f.Cell, lifetimes.Millis(f.TTL)}, bytes: len(f.Cell)}
}

func checkFill(f *tier.Fill) error {
	if f.Nonce.IsZero() {
		return tier.ErrNonce
	}
	if len(f.Cell) > MaxCell {
		return ErrTooLarge
	}
	return nil
}

// claimed reads the reply of claim.lua.
func claimed(reply any, err error) (tier.Claimed, error) {
	if err != nil {
		return tier.Claimed{}, noNil(err)
	}
	switch r := reply.(type) {
	case int64:
		if r == 0 || r == 1 {
			return tier.Claimed{Granted: r == 1}, nil
		}
	case string:
		return tier.Claimed{Cell: []byte(r)}, nil
	}
	return tier.Claimed{}, fmt.Errorf("%w: a %T for a claim", ErrReply, reply)
}

// filled reads the reply of fill.lua and release.lua.
func filled(reply any, err error) (bool, error) {
	if err != nil {
		return false, noNil(err)
	}
	if r, ok := reply.(int64); ok && (r == 0 || r == 1) {
		return r == 1, nil
	}
	return false, fmt.Errorf("%w: a %T for a fill", ErrReply, reply)
}

// noNil turns a nil reply, which no script returns, into ErrReply.
func noNil(err error) error {
	if errors.Is(err, redis.Nil) {
		return fmt.Errorf("%w: nil", ErrReply)
	}
	return err
}
