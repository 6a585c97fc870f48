// Package store stores the site in SQLite or PostgreSQL. Each query has one text for both.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	urls "net/url"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	"github.com/pressly/goose/v3"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

//go:embed migrations
var files embed.FS

func migrations(kind string) fs.FS {
	dir, err := fs.Sub(files, "migrations/"+kind)
	if err != nil {
		panic(err) // kind is a constant
	}
	return dir
}

// Store is the site's database.
type Store struct {
	conn
	readers  *sql.DB
	writer   *sql.DB
	snapshot *sql.TxOptions // for reads that must see one moment
	logs     sqllog.Config
	log      *sqllog.Log // for the invalidations of writes
	count    atomic.Int64
}

// Reader returns the reads of the public side.
func (s *Store) Reader() content.Reader {
	return content.Reader{
		Settings: s.Settings, Navigation: s.Navigation, PostBySlug: s.PostBySlug, PostByID: s.PostByID, PageBySlug: s.PageBySlug, PageByID: s.PageByID,
		ListPosts: s.ListPosts, FeedItems: s.FeedItems, TagCounts: s.TagCounts, MonthCounts: s.MonthCounts, Sitemap: s.Sitemap,
		APIKeyByPrefix: s.APIKeyByPrefix,
	}
}

// noFile matches a scheme, the beginning of a connection string, and a password.
var noFile = regexp.MustCompile(`^[\w.+-]{2,}:|^\w+=|:.*@`)

// Open opens a database and migrates it. db is a postgres:// URL or the path of a SQLite file.
func Open(ctx context.Context, db string) (s *Store, err error) {
	switch {
	case strings.HasPrefix(db, "postgres://") || strings.HasPrefix(db, "postgresql://"):
		s, err = openPostgres(ctx, db)
	case noFile.MatchString(db):
		err = errors.New("the database looks like a URL or a connection string: want postgres://USER:PASSWORD@HOST/NAME, or the path of a file")
	default:
		s, err = openSQLite(ctx, db)
	}
	if err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
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

func openSQLite(ctx context.Context, path string) (*Store, error) {
	db, err := sqlite.Open(ctx, sqlite.Config{Path: path, Migrations: migrations("sqlite")})
	if err != nil {
		return nil, err
	}
	return &Store{readers: db.Readers, writer: db.Writer, logs: sqllog.Config{Dialect: sqllog.SQLite, Readers: db.Readers}}, nil
}

// openPostgres opens a database by its URL. Errors must not show its password.
func openPostgres(ctx context.Context, url string) (*Store, error) {
	u, err := urls.Parse(url)
	if err != nil || strings.Contains(u.Path+u.RawQuery, "@") {
		return nil, errors.New("the database is no valid URL: want postgres://USER:PASSWORD@HOST/NAME, special characters percent-encoded")
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	if err = db.PingContext(ctx); err == nil {
		err = sqlite.Migrate(ctx, db, goose.DialectPostgres, migrations("postgres"))
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	n := max(4, runtime.GOMAXPROCS(0))
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n) // otherwise connections are opened and closed all the time
	return &Store{
		readers: db, writer: db, logs: sqllog.Config{Dialect: sqllog.Postgres},
		snapshot: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	}, nil
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
	return s.in(ctx, s.writer, nil, func(c conn) error {
		// This comes first: in PostgreSQL it serialises the writes.
		epoch, err := one[int64](ctx, c, `UPDATE revision SET n = n + 1 RETURNING n`)
		if err != nil {
			return err
		}
		return fn(&Tx{c, s.log, epoch})
	})
}

func (s *Store) in(ctx context.Context, db *sql.DB, o *sql.TxOptions, fn func(c conn) error) error {
	return sqlite.In(ctx, db, o, func(c sqlite.Conn) error { return fn(s.on(c.Queryer)) })
}
