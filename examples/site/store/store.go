// Package store keeps the site in a SQLite file or in a PostgreSQL database. Each query
// has one text for both; what they do differently is in the migrations and in the file
// named after each. The store decides nothing: package service says what may be
// written, and is the only caller of Write beside the seed.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

//go:embed migrations
var migrations embed.FS

// Store is the site's database. Its reads are those of [content.Reader], of what
// the public may see, and some more for the admin API, of everything.
type Store struct {
	queries
	readers  *sql.DB
	writer   *sql.DB
	snapshot *sql.TxOptions // of reads that must be of one moment
	logs     sqllog.Config
	log      *sqllog.Log // of what writes invalidate
	count    atomic.Int64
}

var _ content.Reader = (*Store)(nil)

// Open opens a database and brings its schema up to date: a PostgreSQL database by a
// URL that begins with postgres://, or a SQLite file by its path, which is made if
// there is none.
func Open(ctx context.Context, db string) (s *Store, err error) {
	if strings.HasPrefix(db, "postgres://") || strings.HasPrefix(db, "postgresql://") {
		s, err = openPostgres(ctx, db)
	} else {
		s, err = openSQLite(ctx, db)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	n := max(4, runtime.GOMAXPROCS(0))
	s.readers.SetMaxOpenConns(n)
	s.readers.SetMaxIdleConns(n) // or connections are opened and closed all the time
	s.queries = queries{conn{s.readers, &s.count}}
	s.logs.Poll = 500 * time.Millisecond // a writer's own process hears at once; the others may take so long
	s.log = s.Log()
	if err := s.log.Install(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), s.Close())
	}
	return s, nil
}

// migrate brings the schema up to date with the migrations in a folder. Of two processes
// that make one change, one fails, and finds it made when it tries again.
func migrate(ctx context.Context, db *sql.DB, d goose.Dialect, folder string) error {
	dir, err := fs.Sub(migrations, "migrations/"+folder)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(d, db, dir)
	if err != nil {
		return err
	}
	for range 20 {
		if _, err = p.Up(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(50 * time.Millisecond): // until the other one is through
		case <-ctx.Done():
		}
	}
	return err
}

// Close closes the database.
func (s *Store) Close() error { return errors.Join(s.readers.Close(), s.writer.Close()) }

// Ping reports whether the database answers. It does not count as a query.
func (s *Store) Ping(ctx context.Context) error { return s.readers.PingContext(ctx) }

// Queries returns how many statements the store has run.
func (s *Store) Queries() int64 { return s.count.Load() }

// Log returns the log of what writes invalidate, for one cache.Tiers.
func (s *Store) Log() *sqllog.Log { return sqllog.New(s.writer, s.logs) }

// Tx is a write under way: reads see what it has written.
type Tx struct {
	queries
	log *sqllog.Log
}

// Invalidate makes the scopes untrue in every process that has cached them, when the
// write is committed. A write that is not committed invalidates nothing.
func (tx *Tx) Invalidate(ctx context.Context, scopes ...invalidate.Scope) error {
	return tx.log.Append(ctx, tx.db, scopes...)
}

// Write runs fn in a transaction of its own, which is committed if fn returns nil.
// It returns the number of the write, by which writes are ordered as they were
// committed.
func (s *Store) Write(ctx context.Context, fn func(tx *Tx) error) (revision int64, err error) {
	err = s.in(ctx, s.writer, nil, func(c conn) error {
		// This comes first: PostgreSQL lets one write at a time go on from here.
		revision, err = one(ctx, c, scanValue[int64], `UPDATE revision SET n = n + 1 RETURNING n`)
		if err != nil {
			return err
		}
		return fn(&Tx{queries{c}, s.log})
	})
	if err != nil {
		return 0, err
	}
	return revision, nil
}

// in runs fn in a transaction on db.
func (s *Store) in(ctx context.Context, db *sql.DB, o *sql.TxOptions, fn func(c conn) error) error {
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // after a commit it is an error, else that of fn tells more
	if err := fn(conn{tx, &s.count}); err != nil {
		return err
	}
	return tx.Commit()
}
