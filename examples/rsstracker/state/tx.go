package state

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// tx is a transaction under way, with the context it began with: it never outlives
// the call that made it.
type tx struct {
	*sql.Tx
	ctx context.Context
}

// run executes a statement and returns how many rows it changed.
func (t tx) run(query string, args ...any) (int, error) {
	res, err := t.ExecContext(t.ctx, query, args...)
	if err != nil {
		return 0, fmt.Errorf("state: %w", err)
	}
	n, err := res.RowsAffected()
	return int(n), err
}

// do is run of something whose count is of no interest.
func (t tx) do(query string, args ...any) error {
	_, err := t.run(query, args...)
	return err
}

// row is what a scan function reads: a *sql.Row or the present one of *sql.Rows.
type row interface{ Scan(dest ...any) error }

// one returns the first row of a query, or an error that wraps sql.ErrNoRows.
func one[T any](t tx, scan func(row) (T, error), query string, args ...any) (T, error) {
	v, err := scan(t.QueryRowContext(t.ctx, query, args...))
	if err != nil {
		err = fmt.Errorf("state: %w", err)
	}
	return v, err
}

// list returns the rows of a query.
func list[T any](t tx, scan func(row) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := t.QueryContext(t.ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("state: %w", err)
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// value scans the only column of a row.
func value[T any](r row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// millis is a time in a column; the zero time is NULL.
type millis struct{ *time.Time }

// Scan implements [sql.Scanner].
func (m millis) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*m.Time = time.Time{}
	case int64:
		*m.Time = time.UnixMilli(v).UTC()
	default:
		return fmt.Errorf("%T is not a time", src)
	}
	return nil
}

// ms is the argument for the time t.
func ms(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}
