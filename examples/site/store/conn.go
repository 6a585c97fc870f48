package store

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/site/content"
)

// conn is a pool or a transaction, with counted statements. [content.Reader] documents its reads.
type conn struct{ sqlite.Conn }

func (s *Store) on(q sqlite.Queryer) conn { return conn{sqlite.Conn{Queryer: counted{q, &s.count}}} }

// counted counts statements.
type counted struct {
	sqlite.Queryer
	n *atomic.Int64
}

// ExecContext implements [sqlite.Queryer].
func (c counted) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.n.Add(1)
	return c.Queryer.ExecContext(ctx, query, args...)
}

// QueryContext implements [sqlite.Queryer].
func (c counted) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	c.n.Add(1)
	return c.Queryer.QueryContext(ctx, query, args...)
}

func one[T any](ctx context.Context, c conn, query string, args ...any) (T, error) {
	v, err := sqlite.One[T](ctx, c.Conn, query, args...)
	return v, missing(err)
}

// exec returns [content.ErrNotFound] if it changes no row.
func (c conn) exec(ctx context.Context, query string, args ...any) error {
	return missing(c.Exec(ctx, query, args...))
}

func missing(err error) error {
	if errors.Is(err, sqlite.ErrNotFound) {
		return content.ErrNotFound
	}
	return err
}

// Table is a table whose rows have slugs.
type Table string

// The tables whose rows have slugs.
const (
	Posts Table = "posts"
	Pages Table = "pages"
	Tags  Table = "tags"
)

// ID returns the id of the row with the slug, public or not.
func (c conn) ID(ctx context.Context, of Table, slug string) (int64, error) {
	return one[int64](ctx, c, `SELECT id FROM `+string(of)+` WHERE slug = $1`, slug)
}

// Delete deletes a row. A deleted tag is removed from its posts.
func (tx *Tx) Delete(ctx context.Context, from Table, id int64) error {
	return tx.exec(ctx, `DELETE FROM `+string(from)+` WHERE id = $1`, id)
}
