// Package state keeps what the tracker knows in one SQLite file: the sites, what
// their sitemaps list, what became of every page, and what was published. Each
// exported write is one transaction, and whatever was committed when the process
// dies is enough to go on from.
//
// Times are milliseconds in the database and come from the caller's clock, never
// from the database's.
package state

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed migrations/*.sql
var migrations embed.FS

// The errors that callers branch on.
var (
	ErrCorrupt   = errors.New("state: the database is corrupt")
	ErrLeased    = errors.New("state: another run of this site is under way")
	ErrLeaseLost = errors.New("state: this run took too long and another one has begun")
	ErrNoSite    = errors.New("state: no such site")
)

// Options say how a store is opened. The zero Options lose nothing at a power cut.
type Options struct {
	// Relaxed leaves it to the operating system when to write to the disk: a
	// process that is killed loses nothing, a power cut may. For tests.
	Relaxed bool

	// Thorough checks indexes against tables, too, which takes longer.
	Thorough bool
}

// Store is the database. All methods may be called concurrently, also by several
// processes on one file.
type Store struct {
	readers *sql.DB
	writer  *sql.DB // one connection: writes queue here instead of failing with SQLITE_BUSY
}

// Open opens the database at path, making it if there is none, checks it and brings
// its schema up to date. A file that is no database, or a damaged one, is
// [ErrCorrupt]; see [SetAside].
func Open(ctx context.Context, path string, opt Options) (*Store, error) {
	sync := "_pragma=synchronous(FULL)"
	if opt.Relaxed {
		sync = "_pragma=synchronous(OFF)"
	}
	writer, err := sql.Open("sqlite", dsn(path, sync+"&_txlock=immediate"))
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	writer.SetMaxOpenConns(1)
	if err := prepare(ctx, writer, opt.Thorough); err != nil {
		return nil, errors.Join(fmt.Errorf("state: open: %w", wrap(err)), writer.Close())
	}
	readers, err := sql.Open("sqlite", dsn(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("state: %w", err), writer.Close())
	}
	readers.SetMaxOpenConns(4)
	readers.SetMaxIdleConns(4) // or connections are opened and closed all the time
	return &Store{readers: readers, writer: writer}, nil
}

// dsn returns the name of the database at path, with more pragmas than those that
// every connection needs.
func dsn(path, more string) string {
	path = (&url.URL{Path: path}).EscapedPath()
	return "file:" + path + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&" + more
}

// prepare checks the file and migrates it.
func prepare(ctx context.Context, db *sql.DB, thorough bool) error {
	check, verdict := `PRAGMA quick_check(1)`, ""
	if thorough {
		check = `PRAGMA integrity_check(1)`
	}
	if err := db.QueryRowContext(ctx, check).Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return ErrCorrupt
	}
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

// wrap marks the errors by which SQLite says that the file is damaged.
func wrap(err error) error {
	if e, ok := errors.AsType[*sqlite.Error](err); ok && !errors.Is(err, ErrCorrupt) {
		if code := e.Code() & 0xff; code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
	}
	return err
}

// SetAside renames the files of the database at path, so that it can be looked at
// and a new one can take its place. It returns the new name. Nobody in this process
// may have it open.
func SetAside(path string, now time.Time) (string, error) {
	aside := fmt.Sprintf("%s.corrupt-%d", path, now.UnixMilli())
	var errs []error
	for _, suffix := range []string{"-wal", "-shm", ""} { // the file itself last: until then the rest can be repeated
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return aside, errors.Join(errs...)
}

// Close closes the database.
func (s *Store) Close() error { return errors.Join(s.readers.Close(), s.writer.Close()) }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return wrap(s.readers.PingContext(ctx)) }

// write runs fn in a transaction, which is committed if fn returns nil.
func (s *Store) write(ctx context.Context, fn func(tx) error) error {
	return in(ctx, s.writer, fn)
}

// read runs fn in a transaction that sees one moment of the database.
func (s *Store) read(ctx context.Context, fn func(tx) error) error {
	return in(ctx, s.readers, fn)
}

func in(ctx context.Context, db *sql.DB, fn func(tx) error) error {
	t, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("state: begin: %w", wrap(err))
	}
	defer t.Rollback() //nolint:errcheck // after a commit it is an error, else that of fn tells more
	if err := fn(tx{t, ctx}); err != nil {
		return wrap(err)
	}
	if err := t.Commit(); err != nil {
		return fmt.Errorf("state: commit: %w", wrap(err))
	}
	return nil
}
