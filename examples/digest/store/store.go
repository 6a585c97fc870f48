// Package store keeps users, sources, subscriptions, items and digests in one SQLite
// file: one connection that writes, and a pool of them that reads.
//
// Times are integer milliseconds of UTC in the file and [time.Time] outside. Every
// "now" comes from [Options.Now]; SQL is never asked what time it is.
//
// What users' subscriptions hash to is kept in step by [Store.Write]: whatever
// changes subscriptions marks the users it touches, and their hashes are written
// before the same transaction commits. [Store.Verify] looks for drift all the same.
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
	"time"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/twofold-go/twofold/examples/digest/store/prepared"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options say how a Store works. The zero value is ready to use.
type Options struct {
	// Now is the clock. Nil: time.Now.
	Now func() time.Time
}

// Store is the database. All methods may be called concurrently, by several
// processes on one file, too.
type Store struct {
	queries
	readers *prepared.Pool
	writer  *prepared.Pool // one connection: writes queue here instead of failing with SQLITE_BUSY
	watcher atomic.Pointer[Watcher]
}

// Open opens the database at path, making it if there is none, and brings its
// schema up to date.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
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
	if o.Now == nil {
		o.Now = time.Now
	}
	r := prepared.New(readers)
	return &Store{queries: queries{conn{r}, o.Now}, readers: r, writer: prepared.New(writer)}, nil
}

// dsn returns the name of the database at path, with more pragmas than those that
// every connection needs. Foreign keys are off in SQLite unless asked for.
func dsn(path, more string) string {
	path = (&url.URL{Path: path}).EscapedPath()
	return "file:" + path + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&" + more
}

// migrate brings the schema up to date. Of processes that start together all but one
// fail where the first has been already; each migration is one transaction, so they
// find it done when they look again.
func migrate(ctx context.Context, db *sql.DB) error {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, dir)
	if err != nil {
		return err
	}
	for range migrateAttempts {
		if _, err = p.Up(ctx); err == nil {
			return nil
		}
	}
	return err
}

// migrateAttempts is how often migrate tries, each time finding at least one
// migration more done by others if it was others that it failed on.
const migrateAttempts = 20

// Close closes the database.
func (s *Store) Close() error {
	return errors.Join(s.readers.Close(), s.writer.Close(), s.readers.DB().Close(), s.writer.DB().Close())
}

// Now returns the time of the store's clock.
func (s *Store) Now() time.Time { return s.now() }

// Pools returns the connections themselves, for the packages that keep tables of
// their own kind here. The writer has one connection: who holds a transaction on it
// must not wait for another one.
func (s *Store) Pools() (writer, readers *sql.DB) { return s.writer.DB(), s.readers.DB() }

// Watcher hears of writes.
type Watcher struct {
	// Changed is called in each transaction that changed users, before it commits: their
	// subscriptions may hash to something else now, or their options are others. An
	// error rolls back.
	Changed func(ctx context.Context, tx *Tx, users []int64) error

	// Committed is called after COMMIT, and before Write returns, if the transaction
	// changed users or called [Tx.Announce].
	Committed func(ctx context.Context)
}

// Watch makes w hear of writes. There is one watcher; nil takes it away.
func (s *Store) Watch(w *Watcher) { s.watcher.Store(w) }

// Read runs fn in a transaction that sees the database as of one moment.
func (s *Store) Read(ctx context.Context, fn func(r *Snapshot) error) error {
	return s.readers.Do(ctx, func(tx *prepared.Tx) error { return fn(&Snapshot{queries{conn{tx}, s.now}}) })
}

// Snapshot is a read of one moment.
type Snapshot struct{ queries }

// Tx is a write under way: reads see what it has written. It is not for concurrent
// use, and ends with the function it was given to.
type Tx struct {
	queries
	touched map[int64]struct{} // users whose hashes are to be written
	news    bool
}

// Announce makes the watcher hear when the transaction has committed.
func (tx *Tx) Announce() { tx.news = true }

// ExecContext runs a statement of others, such as a log's, in the transaction.
func (tx *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return tx.db.ExecContext(ctx, query, args...)
}

// Write runs fn in a transaction of its own, which is committed if fn returns nil.
// The hashes of the users that fn touched are written by the same transaction,
// once per user however much fn changed.
func (s *Store) Write(ctx context.Context, fn func(tx *Tx) error) error {
	w := s.watcher.Load()
	tx := &Tx{touched: map[int64]struct{}{}}
	err := s.writer.Do(ctx, func(c *prepared.Tx) error {
		tx.queries = queries{conn{c}, s.now}
		if err := fn(tx); err != nil {
			return err
		}
		users, err := tx.writeHashes(ctx)
		if err == nil && len(users) > 0 && w != nil {
			tx.news = true
			err = w.Changed(ctx, tx, users)
		}
		return err
	})
	if err == nil && tx.news && w != nil {
		w.Committed(ctx)
	}
	return err
}
