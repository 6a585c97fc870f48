package sqltier

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/tier"
)

// Get reads frames, and takes no lock. The caller owns them. One SELECT reads up to 256 keys on PostgreSQL, and
// 32 on SQLite.
func (t *Tier) Get(ctx context.Context, keys []string, frames [][]byte) error {
	err := t.ready(ctx)
	switch {
	case err != nil || len(keys) == 0:
	case len(keys) == 1:
		frames[0], err = t.get(ctx, keys[0])
	default:
		err = t.manyKeys(ctx, keys, frames)
	}
	return fail("get", err)
}

func (t *Tier) get(ctx context.Context, key string) (frame []byte, err error) {
	err = t.one(ctx, nil, get, []any{[]byte(key)}, &frame)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return frame, err
}

// Claim requests the right to load keys; see [tier.Remote]. For an empty key it is one statement, otherwise two
// or three. For many keys, PostgreSQL claims the empty ones in one statement, and SQLite all in one
// transaction. A zero Nonce returns [tier.ErrNonce].
func (t *Tier) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	err := t.ready(ctx)
	switch {
	case err != nil || len(keys) == 0:
	case len(keys) == 1:
		answers[0], err = t.claim(ctx, nil, keys[0], claims[0])
	default:
		err = t.claims(ctx, keys, claims, answers)
	}
	return fail("claim", err)
}

// claim first assumes that the key is empty, as it is for most claims. Other claims depend on the
// frame, so they read it first.
func (t *Tier) claim(ctx context.Context, tx *sql.Tx, key string, c tier.Claim) (got tier.Claimed, err error) {
	guess := !c.Refresh && c.Seen != c.Nonce
	err = t.change(ctx, tx, key, nil, guess, func(frame []byte, now time.Time) (ch tier.Change, err error) {
		ch, got, err = c.Over(frame, now)
		return ch, err
	})
	if err != nil {
		return tier.Claimed{}, err
	}
	return got, nil
}

// Fill stores or releases by compare-and-set on the nonce; see [tier.Remote]. It is one statement; the release
// of a refresh claim takes three. For many keys, PostgreSQL stores in one statement, and SQLite in one
// transaction. A zero Nonce returns [tier.ErrNonce].
//
// A Cell over [Config.MaxCell] ends its claim and leaves nothing under the key, as if the cell
// were evicted immediately. Then Fill reports whether the claim was still there, and [Tier.Stats]
// counts the cell.
//
// Some fills start a sweep; see [Tier.Sweep].
func (t *Tier) Fill(ctx context.Context, keys []string, fills []tier.Fill, stored []bool) error {
	err := t.ready(ctx)
	switch {
	case err != nil || len(keys) == 0:
	case len(keys) == 1:
		stored[0], err = t.fill(ctx, nil, keys[0], fills[0])
	default:
		err = t.fills(ctx, keys, fills, stored)
	}
	if err == nil {
		t.filled(len(keys))
	}
	return fail("fill", err)
}

// fill makes the change of tier.Fill.Over. With a Cell, that change depends only on the current
// nonce, so the database compares it.
func (t *Tier) fill(ctx context.Context, tx *sql.Tx, key string, f tier.Fill) (ok bool, err error) {
	switch {
	case f.Nonce.IsZero():
		return false, tier.ErrNonce
	case len(f.Cell) == 0:
		err = t.change(ctx, tx, key, tier.LeaseCell(f.Nonce), true, func(frame []byte, _ time.Time) (ch tier.Change, err error) {
			ch, ok, err = f.Over(frame)
			return ch, err
		})
		return ok && err == nil, err
	case len(f.Cell) > t.cfg.MaxCell:
		n, err := t.exec(ctx, tx, discard, []byte(key), f.Nonce[:])
		t.large.Add(n)
		return n > 0, err
	}
	n, err := t.exec(ctx, tx, fill, []byte(key), f.Cell, lifetimes.Millis(f.TTL), f.Nonce[:])
	return n > 0, err
}

// change asks decide for the change to the frame under key, and makes it. When another caller has
// changed the frame meanwhile, it reads the frame and asks again. With guess, it first assumes
// the given frame.
func (t *Tier) change(ctx context.Context, tx *sql.Tx, key string, frame []byte, guess bool, decide func(frame []byte, now time.Time) (tier.Change, error)) error {
	var now time.Time
	for {
		if !guess {
			var err error
			if frame, now, err = t.read(ctx, tx, key); err != nil {
				return err
			}
		}
		ch, err := decide(frame, now)
		if err != nil {
			return err
		}
		if done, err := t.swap(ctx, tx, key, frame, ch); done || err != nil {
			return err
		}
		guess = false
	}
}

// read returns the frame under key, nil for none, and the time of the tier's clock.
func (t *Tier) read(ctx context.Context, tx *sql.Tx, key string) (frame []byte, now time.Time, err error) {
	var ms int64
	err = t.one(ctx, tx, read, []any{[]byte(key)}, &frame, &ms)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, now, nil // without a frame, Over needs no time
	}
	if frame == nil {
		frame = []byte{} // drivers return nil for an empty cell, but here nil means no row
	}
	return frame, time.UnixMilli(ms), err
}

// swap makes a change if frame is still under key, and reports whether it made the change.
func (t *Tier) swap(ctx context.Context, tx *sql.Tx, key string, frame []byte, ch tier.Change) (done bool, err error) {
	var n int64
	switch k := []byte(key); ch.Act {
	case tier.ActKeep:
		return true, nil
	case tier.ActPut:
		if frame == nil {
			n, err = t.exec(ctx, tx, lay, k, ch.Frame, lifetimes.Millis(ch.TTL))
		} else {
			n, err = t.exec(ctx, tx, put, k, ch.Frame, lifetimes.Millis(ch.TTL), frame)
		}
	case tier.ActPatch:
		n, err = t.exec(ctx, tx, patch, k, ch.Frame, frame)
	case tier.ActDrop:
		n, err = t.exec(ctx, tx, drop, k, frame)
	}
	return n > 0, err
}

// Remove removes the rows of keys, in one statement on PostgreSQL and in one transaction on SQLite.
func (t *Tier) Remove(ctx context.Context, keys []string) error {
	if err := t.ready(ctx); err != nil || len(keys) == 0 {
		return fail("remove", err)
	}
	return fail("remove", t.remove(ctx, keys))
}
