package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The errors that callers branch on. Others are the database's.
var (
	// ErrNotFound says that there is no such thing, or none that may be seen.
	ErrNotFound = errors.New("store: not found")

	// ErrTaken says that an email, a slug or a key belongs to another row.
	ErrTaken = errors.New("store: already taken")

	// ErrInvalid says that an argument makes no sense; the text names it.
	ErrInvalid = errors.New("store: invalid")
)

// conn is a pool or a transaction.
type conn struct {
	db interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
}

// queries are the reads that pools and transactions have in common.
type queries struct {
	conn
	now func() time.Time
}

// row is what a scan function reads: a *sql.Row or the present one of *sql.Rows.
type row interface{ Scan(dest ...any) error }

// one returns the first row of a query; without one, [ErrNotFound].
func one[T any](ctx context.Context, c conn, scan func(row) (T, error), query string, args ...any) (T, error) {
	v, err := scan(c.db.QueryRowContext(ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return v, named(err)
}

// list returns the rows of a query.
func list[T any](ctx context.Context, c conn, scan func(row) (T, error), query string, args ...any) (all []T, err error) {
	rows, err := c.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, rows.Err()
}

// run changes what it finds, which may be nothing, and says how many rows it changed.
func (c conn) run(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := c.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, named(err)
	}
	return res.RowsAffected()
}

// exec changes something. That it finds nothing to change is [ErrNotFound].
func (c conn) exec(ctx context.Context, query string, args ...any) error {
	n, err := c.run(ctx, query, args...)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return err
}

// insert adds a row and returns its id.
func (c conn) insert(ctx context.Context, query string, args ...any) (int64, error) {
	res, err := c.db.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, named(err)
	}
	return res.LastInsertId()
}

// The extended result codes of SQLite that have names here (sqlite.org/rescode.html).
const (
	constraintForeignKey = 787
	constraintUnique     = 2067
)

// named gives an error of the database a name that callers know.
func named(err error) error {
	if e, ok := errors.AsType[interface {
		error
		Code() int
	}](err); ok {
		switch e.Code() {
		case constraintForeignKey:
			return fmt.Errorf("%w: %w", ErrNotFound, err)
		case constraintUnique:
			return fmt.Errorf("%w: %w", ErrTaken, err)
		}
	}
	return err
}

func scanValue[T any](r row) (v T, err error) {
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

// toMillis is the argument for the time t.
func toMillis(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMilli()
}

// inJSON is a value in a column of JSON.
type inJSON struct{ v any }

// Scan implements [sql.Scanner].
func (j inJSON) Scan(src any) error {
	s, ok := src.(string)
	if !ok {
		return fmt.Errorf("%T is not JSON", src)
	}
	return json.Unmarshal([]byte(s), j.v)
}

// toJSON is the argument for the value v.
func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// orEmpty is JSON as an argument: nothing is the empty object.
func orEmpty(j json.RawMessage) string {
	if len(j) == 0 {
		return "{}"
	}
	return string(j)
}
