// Package store keeps the site in one SQLite file: one connection that writes, and
// a pool of them that reads. It decides nothing: what may be written is the
// business of package service, which is the only caller of Write but for the seed.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"runtime"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/twofold-go/twofold/examples/site/content"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is the site's database. Its reads are those of [content.Reader], of what
// the public may see, and some more for the admin API, of everything.
type Store struct {
	queries
	readers *sql.DB
	writer  *sql.DB // one connection: writes queue here instead of failing with SQLITE_BUSY
	count   atomic.Int64
}

var _ content.Reader = (*Store)(nil)

// Open opens the database at path, making it if there is none, and brings its
// schema up to date.
func Open(ctx context.Context, path string) (*Store, error) {
	writer, err := sql.Open("sqlite", dsn(path, "_pragma=synchronous(NORMAL)&_txlock=immediate"))
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	writer.SetMaxOpenConns(1)
	if err := migrate(ctx, writer); err != nil {
		return nil, errors.Join(fmt.Errorf("store: %s: %w", path, err), writer.Close())
	}
	readers, err := sql.Open("sqlite", dsn(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), writer.Close())
	}
	n := max(4, runtime.GOMAXPROCS(0))
	readers.SetMaxOpenConns(n)
	readers.SetMaxIdleConns(n) // or connections are opened and closed all the time
	s := &Store{readers: readers, writer: writer}
	s.queries = queries{conn{readers, &s.count}}
	return s, nil
}

// dsn returns the name of the database at path, with more pragmas than those that
// every connection needs.
func dsn(path, more string) string {
	path = (&url.URL{Path: path}).EscapedPath()
	return "file:" + path + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&" + more
}

func migrate(ctx context.Context, db *sql.DB) error {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// Close closes the database.
func (s *Store) Close() error { return errors.Join(s.readers.Close(), s.writer.Close()) }

// Ping reports whether the database answers. It does not count as a query.
func (s *Store) Ping(ctx context.Context) error { return s.readers.PingContext(ctx) }

// Queries returns how many statements the store has run.
func (s *Store) Queries() int64 { return s.count.Load() }

// Tx is a write under way: reads see what it has written.
type Tx struct{ queries }

// Write runs fn in a transaction of its own, which is committed if fn returns nil.
// It returns the number of the write, by which writes are ordered as they were
// committed.
func (s *Store) Write(ctx context.Context, fn func(tx *Tx) error) (revision int64, err error) {
	err = s.in(ctx, s.writer, func(c conn) error {
		if err := fn(&Tx{queries{c}}); err != nil {
			return err
		}
		revision, err = one(ctx, c, scanValue[int64], `UPDATE revision SET n = n + 1 RETURNING n`)
		return err
	})
	return revision, err
}

// in runs fn in a transaction on db.
func (s *Store) in(ctx context.Context, db *sql.DB, fn func(c conn) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is an error, else that of fn tells more
	if err := fn(conn{tx, &s.count}); err != nil {
		return err
	}
	return tx.Commit()
}
