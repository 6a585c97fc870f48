package sqltier

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/tier"
)

const (
	chunk = 256 // keys in one statement of PostgreSQL
	slots = 32  // keys in one SELECT of SQLite
)

// manyKeys reads keys into frames: one SELECT reads 256 of them on PostgreSQL, and 32 on SQLite.
func (t *Tier) manyKeys(ctx context.Context, keys []string, frames [][]byte) error {
	size, args := slots, slotArgs
	if t.cfg.Dialect == Postgres {
		size, args = chunk, keyArgs
	}
	var errs []error
	for begin := 0; begin < len(keys); begin += size {
		part := keys[begin:min(begin+size, len(keys))]
		errs = append(errs, t.getMany(ctx, part, args(part), frames[begin:]))
	}
	return errors.Join(errs...)
}

func (t *Tier) getMany(ctx context.Context, keys []string, args []any, frames [][]byte) error {
	rows, err := t.query(ctx, nil, getMany, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	found := make(map[string][]byte, len(keys))
	for rows.Next() {
		var key, frame []byte
		if err := rows.Scan(&key, &frame); err != nil {
			return err
		}
		found[string(key)] = frame
	}
	if err := rows.Err(); err != nil {
		return err
	}
	given := make(map[string]bool, len(keys))
	for i, key := range keys {
		frames[i] = found[key]
		if given[key] { // each caller owns its answer
			frames[i] = bytes.Clone(frames[i])
		}
		given[key] = true
	}
	return nil
}

// keyArgs packs keys for PostgreSQL.
func keyArgs(keys []string) []any {
	var p pack
	for _, key := range keys {
		p.addKey(key)
	}
	return p.keys()
}

// slotArgs puts keys into the slots of SQLite's statement. The other slots are NULL, which
// matches no key.
func slotArgs(keys []string) []any {
	args := make([]any, slots, slots+1)
	for i, key := range keys {
		args[i] = []byte(key)
	}
	return args
}

// claims is Claim for many keys. On PostgreSQL one statement claims the empty keys, and the other claims
// follow one by one. On SQLite all claims are one transaction.
func (t *Tier) claims(ctx context.Context, keys []string, claims []tier.Claim, out []tier.Claimed) error {
	return many(ctx, t, keys, out, batch[tier.Claimed]{
		which: claimMany,
		pack: func(i int, p *pack) bool {
			c := &claims[i]
			if c.Nonce.IsZero() || c.Refresh || c.Seen == c.Nonce {
				return false // such a claim depends on a frame, or is refused
			}
			p.add(keys[i], c.Nonce, tier.LeaseCell(c.Nonce), lifetimes.Millis(c.Lease))
			return true
		},
		packed: func(laid bool) (tier.Claimed, bool) { return tier.Claimed{Granted: true}, laid },
		alone: func(ctx context.Context, tx *sql.Tx, i int) (tier.Claimed, error) {
			return t.claim(ctx, tx, keys[i], claims[i])
		},
	})
}

// fills is Fill for many keys. On PostgreSQL one statement fills, and the releases follow one by one. On
// SQLite all fills are one transaction.
func (t *Tier) fills(ctx context.Context, keys []string, fills []tier.Fill, out []bool) error {
	return many(ctx, t, keys, out, batch[bool]{
		which: fillMany,
		pack: func(i int, p *pack) bool {
			f := &fills[i]
			if f.Nonce.IsZero() || len(f.Cell) == 0 || len(f.Cell) > t.cfg.MaxCell {
				return false
			}
			p.add(keys[i], f.Nonce, f.Cell, lifetimes.Millis(f.TTL))
			return true
		},
		packed: func(filled bool) (bool, bool) { return filled, true },
		alone: func(ctx context.Context, tx *sql.Tx, i int) (bool, error) {
			return t.fill(ctx, tx, keys[i], fills[i])
		},
	})
}

// batch describes the requests for many keys, one for each.
type batch[T any] struct {
	which  int                          // the statement for many keys
	pack   func(i int, p *pack) bool    // adds a request, unless it must be made by itself
	packed func(changed bool) (T, bool) // the answer to a packed request; false if it must be made by itself
	alone  func(context.Context, *sql.Tx, int) (T, error)
}

// many writes the answers to a batch into out.
func many[T any](ctx context.Context, t *Tier, keys []string, out []T, b batch[T]) error {
	if t.cfg.Dialect != Postgres {
		err := t.inTx(ctx, func(tx *sql.Tx) (err error) {
			for i := 0; i < len(keys) && err == nil; i++ {
				out[i], err = b.alone(ctx, tx, i)
			}
			return err
		})
		if err != nil {
			clear(out) // nothing is committed
		}
		return err
	}
	alone, err := pipeline(ctx, t, keys, out, b)
	errs := []error{err}
	for _, i := range alone {
		out[i], err = b.alone(ctx, nil, i)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// pipeline sends the requests that can be packed. It returns the indexes of the requests that
// must be made one by one, in order. A second request for the same key is one of them.
func pipeline[T any](ctx context.Context, t *Tier, keys []string, out []T, b batch[T]) (alone []int, err error) {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(keys[i], keys[j]) })
	for begin := 0; begin < len(order); begin += chunk {
		var p pack
		var packed []int
		for n := begin; n < min(begin+chunk, len(order)); n++ {
			i := order[n]
			if second := n > 0 && keys[order[n-1]] == keys[i]; !second && b.pack(i, &p) {
				packed = append(packed, i)
			} else {
				alone = append(alone, i)
			}
		}
		if len(packed) == 0 {
			continue
		}
		changed, err := t.send(ctx, b.which, &p)
		if err != nil {
			return nil, err
		}
		for _, i := range packed {
			var done bool
			if out[i], done = b.packed(changed[keys[i]]); !done {
				alone = append(alone, i)
			}
		}
	}
	slices.Sort(alone)
	return alone, nil
}
