package redistier

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/tier"
)

// Claim requests the right to load keys; see [tier.Remote]. It is one EVALSHA for up to 128 keys; on a Cluster
// one pipeline per node. A claim with Look is one plain command, if the server knows it. When
// nodes fail, the answers of the other nodes are valid, and the error joins all failures. A zero Nonce fails
// all, with [tier.ErrNonce].
func (t *Tier) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) (err error) {
	const op = "claim"
	if err := t.ready(ctx, op); err != nil || len(keys) == 0 {
		return err
	}
	if slices.ContainsFunc(claims, func(c tier.Claim) bool { return c.Nonce.IsZero() }) {
		return fail(op, tier.ErrNonce)
	}
	switch {
	case len(keys) > 1:
		return writeMany(ctx, t, op, keys, claims, answers, claimCall, claimed)
	case claims[0].Look:
		answers[0], err = t.lookAt(ctx, t.prefix+keys[0], &claims[0])
		return err
	}
	return writeOne(ctx, t, op, keys, claims, answers, claimCall, claimed)
}

// Fill stores or releases cells by compare-and-set; see [tier.Remote]. It is one EVALSHA for up to 128 keys or
// 1 MiB, and one more when some fills are releases; on a Cluster one pipeline per node. When nodes fail, the
// answers of the other nodes are valid, and the error joins all failures. A zero Nonce fails all, with
// [tier.ErrNonce], and so does a Cell of over [MaxCell] bytes, with ErrTooLarge. Lifetimes below 1 ms are
// 1 ms. A release reports whether the claim was still there.
func (t *Tier) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) (err error) {
	const op = "fill"
	if err := t.ready(ctx, op); err != nil || len(keys) == 0 {
		return err
	}
	for i := range fills {
		if err := checkFill(&fills[i]); err != nil {
			return fail(op, err)
		}
	}
	if len(keys) > 1 {
		return writeMany(ctx, t, op, keys, fills, stored, fillCall, filled)
	}
	return writeOne(ctx, t, op, keys, fills, stored, fillCall, filled)
}

func writeOne[Q, A any](ctx context.Context, t *Tier, op string, keys []string, asked []Q, answers []A, call func(*Q) invocation, read func(any, error) (A, error)) (err error) {
	defer rescue(op, &err)
	answers[0], err = read(t.run(ctx, t.prefix+keys[0], call(&asked[0])))
	return t.fail(op, err)
}

func writeMany[Q, A any](ctx context.Context, t *Tier, op string, keys []string, asked []Q, answers []A, call func(*Q) invocation, read func(any, error) (A, error)) error {
	ins := make([]invocation, len(asked))
	for i := range asked {
		ins[i] = call(&asked[i])
	}
	var errs joined
	for i, a := range t.runMany(ctx, t.cellKeys(keys), ins) {
		var err error
		answers[i], err = read(a.reply, a.err)
		errs.add(t.fail(op, err))
	}
	return errs.err()
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
