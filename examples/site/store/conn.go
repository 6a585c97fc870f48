package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/examples/site/content"
)

// conn is a pool or a transaction whose statements are counted.
type conn struct {
	db interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	count *atomic.Int64
}

// queries are the reads that pools and transactions have in common.
type queries struct{ conn }

// row is what a scan function reads: a *sql.Row or the present one of *sql.Rows.
type row interface{ Scan(dest ...any) error }

// one returns the first row of a query; without one, [content.ErrNotFound].
func one[T any](ctx context.Context, c conn, scan func(row) (T, error), query string, args ...any) (T, error) {
	c.count.Add(1)
	v, err := scan(c.db.QueryRowContext(ctx, query, texts(args)...))
	if errors.Is(err, sql.ErrNoRows) {
		err = content.ErrNotFound
	}
	return v, err
}

// list returns the rows of a query.
func list[T any](ctx context.Context, c conn, scan func(row) (T, error), query string, args ...any) (all []T, err error) {
	c.count.Add(1)
	rows, err := c.db.QueryContext(ctx, query, texts(args)...)
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

// exec changes something. That it finds nothing to change is
// [content.ErrNotFound].
func (c conn) exec(ctx context.Context, query string, args ...any) error {
	c.count.Add(1)
	res, err := c.db.ExecContext(ctx, query, texts(args)...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	return content.ErrNotFound
}

// run is exec of something that need not change anything.
func (c conn) run(ctx context.Context, query string, args ...any) error {
	err := c.exec(ctx, query, args...)
	if errors.Is(err, content.ErrNotFound) {
		err = nil
	}
	return err
}

// texts makes the arguments texts that PostgreSQL takes: it refuses bytes of zero and
// what is not UTF-8. Nothing in the database has either, so a stranger who asks for
// it finds nothing.
func texts(args []any) []any {
	for i, arg := range args {
		if s, ok := arg.(string); ok {
			args[i] = strings.ToValidUTF8(strings.ReplaceAll(s, "\x00", "\uFFFD"), "\uFFFD")
		}
	}
	return args
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
