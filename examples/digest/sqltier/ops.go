package sqltier

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store/prepared"
	"github.com/twofold-go/twofold/tier"
)

// Get returns the frame under key, nil when there is none. It takes no lock.
func (t *Tier) Get(ctx context.Context, key string) ([]byte, error) {
	if err := t.ready(ctx); err != nil {
		return nil, fail("get", err)
	}
	tb := t.tableOf(key)
	if tb == nil {
		return nil, nil
	}
	var frame []byte
	err := t.readers.QueryRowContext(ctx, tb.get, key, t.cfg.Now().UnixMilli()).Scan(&frame)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return frame, fail("get", err)
}

// Claim asks for the right to load key. A key that is not kept is granted to everybody.
func (t *Tier) Claim(ctx context.Context, key string, c tier.Claim) (got tier.Claimed, err error) {
	err = t.update(ctx, key, c.Nonce, func(frame []byte) (ch tier.Change, err error) {
		ch, got, err = c.Over(frame, t.cfg.Now())
		return ch, err
	})
	if err != nil {
		return tier.Claimed{}, fail("claim", err)
	}
	return got, nil
}

// Fill stores or releases by compare-and-set on the nonce. For a key that is not
// kept it does neither, and succeeds.
func (t *Tier) Fill(ctx context.Context, key string, f tier.Fill) (ok bool, err error) {
	err = t.update(ctx, key, f.Nonce, func(frame []byte) (ch tier.Change, err error) {
		ch, ok, err = f.Over(frame)
		return ch, err
	})
	if err != nil {
		return false, fail("fill", err)
	}
	return ok, nil
}

// Unlink removes the rows of keys, in one transaction.
func (t *Tier) Unlink(ctx context.Context, keys ...string) error {
	if err := t.ready(ctx); err != nil || len(keys) == 0 {
		return fail("unlink", err)
	}
	return fail("unlink", t.writer.Do(ctx, func(tx *prepared.Tx) error { return t.remove(ctx, tx, keys) }))
}

func (t *Tier) remove(ctx context.Context, tx *prepared.Tx, keys []string) error {
	for _, key := range keys {
		tb := t.tableOf(key)
		if tb == nil {
			continue
		}
		if _, err := tx.ExecContext(ctx, tb.drop, key); err != nil {
			return err
		}
	}
	return nil
}

// Sweep removes the rows of cells that have expired. Nothing rests on it: it keeps
// the file from growing. It returns how many there were.
func (t *Tier) Sweep(ctx context.Context) (n int64, err error) {
	if err := t.ready(ctx); err != nil {
		return 0, fail("sweep", err)
	}
	err = t.writer.Do(ctx, func(tx *prepared.Tx) error {
		for _, tb := range t.tables {
			res, err := tx.ExecContext(ctx, tb.sweep, t.cfg.Now().UnixMilli())
			if err != nil {
				return err
			}
			swept, err := res.RowsAffected()
			if err != nil {
				return err
			}
			n += swept
		}
		return nil
	})
	return n, fail("sweep", err)
}

func (t *Tier) ready(ctx context.Context) error {
	if t.err != nil {
		return t.err
	}
	return ctx.Err()
}

// update reads the frame of key, asks what is to become of it, and does that, while
// nobody else writes. For a key that is not kept it only asks, as if the claim n stood.
func (t *Tier) update(ctx context.Context, key string, n tier.Nonce, decide func(frame []byte) (tier.Change, error)) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	tb := t.tableOf(key)
	if tb == nil {
		_, err := decide(tier.LeaseCell(n))
		return err
	}
	return t.writer.Do(ctx, func(tx *prepared.Tx) error {
		var frame []byte
		err := tx.QueryRowContext(ctx, tb.get, key, t.cfg.Now().UnixMilli()).Scan(&frame)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		ch, err := decide(frame)
		if err != nil {
			return err
		}
		switch ch.Act {
		case tier.Put:
			return tb.write(ctx, tx, key, ch.Frame, after(t.cfg.Now(), ch.TTL))
		case tier.Patch:
			_, err = tx.ExecContext(ctx, tb.rewrite, ch.Frame, key)
			return err
		case tier.Drop:
			return tb.free(ctx, tx, key)
		case tier.Keep:
		}
		return nil
	})
}

// after returns the millisecond, rounded up, at which what lives for d from now ends.
func after(now time.Time, d time.Duration) int64 {
	return now.Add(d).Add(time.Millisecond - 1).UnixMilli()
}

// write puts a frame, and the columns that people read beside it.
func (tb *table) write(ctx context.Context, tx *prepared.Tx, key string, frame []byte, end int64) error {
	values := []any{key, frame, end}
	if tb.Row != nil {
		cell, err := tier.ParseCell(frame)
		if err != nil { // a tier stores what it is told to, cell or not
			cell = tier.Cell{}
		}
		more, until, err := tb.Row(key, cell)
		if err != nil {
			return err
		}
		if !until.IsZero() {
			values[2] = until.UnixMilli()
		}
		values = append(values, more...)
	}
	statement := tb.put
	if kind, _ := tier.Head(frame); kind == tier.Lease {
		statement = tb.lease
	}
	_, err := tx.ExecContext(ctx, statement, values...)
	return err
}

// free takes the cell out of a row, and the row away if there is nothing else in it.
func (tb *table) free(ctx context.Context, tx *prepared.Tx, key string) error {
	res, err := tx.ExecContext(ctx, tb.release, key)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	_, err = tx.ExecContext(ctx, tb.drop, key)
	return err
}
