// Package store stores the site in a SQLite file.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

//go:embed migrations/*.sql
var files embed.FS

// Store is the site's database.
type Store struct {
	conn
	readers *sql.DB
	writer  *sql.DB
	logs    sqllog.Config
	log     *sqllog.Log // for the invalidations of writes
	count   atomic.Int64
}

// Reader returns the reads of the public side.
func (s *Store) Reader() content.Reader {
	return content.Reader{
		Settings: s.Settings, Navigation: s.Navigation, PostBySlug: s.PostBySlug, PostByID: s.PostByID, PageBySlug: s.PageBySlug, PageByID: s.PageByID,
		ListPosts: s.ListPosts, FeedItems: s.FeedItems, TagCounts: s.TagCounts, MonthCounts: s.MonthCounts, Sitemap: s.Sitemap,
		APIKeyByPrefix: s.APIKeyByPrefix,
	}
}

// Open opens a SQLite file, creates it if it does not exist, and migrates it.
func Open(ctx context.Context, path string) (*Store, error) {
	dir, err := fs.Sub(files, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Config{Path: path, Migrations: dir})
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	s := &Store{readers: db.Readers, writer: db.Writer, logs: sqllog.Config{Dialect: sqllog.SQLite, Readers: db.Readers}}
	s.conn = s.on(s.readers)
	s.log = s.Log(0)
	err = s.log.Install(ctx)
	if err == nil && triggers.Check(ctx, s.writer, s.logs, tables) != nil {
		err = triggers.Install(ctx, s.writer, s.logs, tables...)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("store: %w", err), s.Close())
	}
	return s, nil
}

// tables are the tables that invalidate themselves, no matter which program writes them. The posts
// are not among them: what a post changes depends on more than its row.
var tables = []triggers.Table{
	{Name: "settings", Unique: [][]string{{"id"}}, Rows: []triggers.Row{{Tag: string(content.SettingsEntity)}}},
	{Name: "nav_items", Unique: [][]string{{"position"}}, Rows: []triggers.Row{{Tag: string(content.NavigationEntity)}}},
	{Name: "api_keys", Unique: [][]string{{"prefix"}}, Rows: []triggers.Row{{Tag: string(content.KeyEntity("")), Column: "prefix"}}},
	{Name: string(Pages), Unique: [][]string{{"id"}, {"slug"}}, Rows: []triggers.Row{
		{Tag: content.PageEntities, Column: "id"}, {Tag: string(content.PageSlugEntity("")), Column: "slug"}, {Tag: string(content.SitemapEntity)},
	}},
}

// Close closes the database.
func (s *Store) Close() error { return errors.Join(s.readers.Close(), s.writer.Close()) }

// Ping reports whether the database answers. It does not count as a query.
func (s *Store) Ping(ctx context.Context) error { return s.readers.PingContext(ctx) }

// Queries returns how many statements the store has run.
func (s *Store) Queries() int64 { return s.count.Load() }

// Log returns the log for one cache.Tiers. poll is its interval; 0 means every half second.
func (s *Store) Log(poll time.Duration) *sqllog.Log {
	c := s.logs
	c.Poll = cmp.Or(poll, 500*time.Millisecond)
	return sqllog.New(s.writer, c)
}

// Tx is a write transaction. Its reads see its own writes.
type Tx struct {
	conn
	log   *sqllog.Log
	Epoch int64 // later transactions have greater ones, in any process
}

// Invalidate invalidates the scopes in every process when the write commits.
func (tx *Tx) Invalidate(ctx context.Context, scopes ...invalidate.Scope) error {
	return tx.log.Append(ctx, tx.Queryer, scopes...)
}

// Write runs fn in a transaction, and commits it if fn returns nil.
func (s *Store) Write(ctx context.Context, fn func(tx *Tx) error) error {
	return s.in(ctx, s.writer, func(c conn) error {
		epoch, err := one[int64](ctx, c, `UPDATE revision SET n = n + 1 RETURNING n`)
		if err != nil {
			return err
		}
		return fn(&Tx{c, s.log, epoch})
	})
}

func (s *Store) in(ctx context.Context, db *sql.DB, fn func(c conn) error) error {
	return sqlite.In(ctx, db, nil, func(c sqlite.Conn) error { return fn(s.on(c.Queryer)) })
}
