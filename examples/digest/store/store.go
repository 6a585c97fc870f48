// Package store stores users, sources, subscriptions, items and digests in one SQLite file.
//
// Times are integer milliseconds of UTC in the file and [time.Time] in Go. The current time
// always comes from [Options.Now]. [Store.Write] records the users whose subscriptions
// change, and writes their hashes before the same transaction commits.
package store

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"io/fs"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options configure a Store.
type Options struct {
	Now func() time.Time // the clock; nil means time.Now
}

// Store is the database.
type Store struct {
	queries
	db *sqlite.DB
}

// Open opens the database at path, creates it if it does not exist, and migrates its schema.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	dir, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Config{Path: path, Migrations: dir})
	if err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{queries: queries{db.Conn, o.Now}, db: db}, nil
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Now returns the time of the store's clock.
func (s *Store) Now() time.Time { return s.now() }

// Pools returns the connections, for packages with tables in the file. There is one writer:
// a transaction must not wait for another one.
func (s *Store) Pools() (writer, readers *sql.DB) { return s.db.Writer, s.db.Readers }

// Read runs fn in a transaction that sees the database at one moment.
func (s *Store) Read(ctx context.Context, fn func(r *Snapshot) error) error {
	return s.db.Read(ctx, func(c sqlite.Conn) error { return fn(&Snapshot{queries{c, s.now}}) })
}

// Snapshot reads the database at one moment.
type Snapshot struct{ queries }

// Tx is a write transaction. Its reads see its own writes.
type Tx struct {
	queries
	touched map[int64]struct{} // users whose hashes must be written
}

// Write runs fn in a transaction, which also writes the hashes of the users that fn touched.
func (s *Store) Write(ctx context.Context, fn func(tx *Tx) error) error {
	return s.db.Write(ctx, func(c sqlite.Conn) error {
		tx := &Tx{queries{c, s.now}, map[int64]struct{}{}}
		if err := fn(tx); err != nil {
			return err
		}
		return tx.writeHashes(ctx)
	})
}

// The errors that callers branch on.
var (
	ErrNotFound = sqlite.ErrNotFound           // it does not exist, or the caller must not see it
	ErrTaken    = sqlite.ErrTaken              // an email, a slug or a key belongs to another row
	ErrInvalid  = errors.New("store: invalid") // an argument, which the text names, is invalid
)

type queries struct {
	sqlite.Conn
	now func() time.Time
}

func orEmpty(j json.RawMessage) string { return cmp.Or(string(j), "{}") }

// AddCounts adds to the counters of the current hour, by name.
func (tx *Tx) AddCounts(ctx context.Context, counts map[string]int64) error {
	hour := tx.now().UTC().Truncate(time.Hour).UnixMilli()
	for name, n := range counts {
		_, err := tx.Run(ctx, `INSERT INTO counters (hour, name, value) VALUES (?, ?, ?)
			ON CONFLICT (hour, name, label) DO UPDATE SET value = value + excluded.value`, hour, name, n)
		if err != nil {
			return err
		}
	}
	return nil
}

// Counts returns the sums of all counters over the hours from the one of since.
func (q queries) Counts(ctx context.Context, since time.Time) (map[string]int64, error) {
	return q.sums(ctx, `SELECT name, sum(value) AS n FROM counters WHERE hour >= ? GROUP BY name`, since.UTC().Truncate(time.Hour).UnixMilli())
}

func (q queries) sums(ctx context.Context, query string, args ...any) (map[string]int64, error) {
	type sum struct {
		Name string
		N    int64
	}
	all, err := sqlite.List[sum](ctx, q.Conn, query, args...)
	sums := map[string]int64{}
	for _, s := range all {
		sums[s.Name] = s.N
	}
	return sums, err
}

// Setting returns a setting of the database. It is empty if it was not set.
func (q queries) Setting(ctx context.Context, name string) (string, error) {
	return sqlite.One[string](ctx, q.Conn,
		`SELECT coalesce((SELECT value FROM settings WHERE name = ?), '')`, name)
}

// Set replaces a setting of the database.
func (tx *Tx) Set(ctx context.Context, name, value string) error {
	return tx.Exec(ctx, `INSERT OR REPLACE INTO settings (name, value) VALUES (?, ?)`, name, value)
}
