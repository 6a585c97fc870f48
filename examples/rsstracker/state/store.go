// Package state is the tracker's state in a SQLite file. Each exported write is one transaction.
package state

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/internal/sqlite"
)

//go:embed migrations/*.sql
var migrations embed.FS

// The errors that callers branch on. A damaged database is [sqlite.ErrCorrupt].
var (
	ErrLeased    = errors.New("state: another run of this site is in progress")
	ErrLeaseLost = errors.New("state: this run took too long, and another one has started")
	ErrNoSite    = errors.New("state: no such site")
)

// Store is the database. All methods may be called concurrently, even by several processes.
type Store struct{ db *sqlite.DB }

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// tx is a transaction with its context.
type tx struct {
	sqlite.Conn
	ctx context.Context //nolint:containedctx // see above
}

func (t tx) run(query string, args ...any) (int, error) {
	n, err := t.Run(t.ctx, query, args...)
	return int(n), err
}

func (t tx) do(query string, args ...any) error {
	_, err := t.run(query, args...)
	return err
}

func (t tx) number(query string, args ...any) (int, error) {
	return sqlite.One[int](t.ctx, t.Conn, query, args...)
}

func (s *Store) write(ctx context.Context, fn func(tx) error) error {
	return s.db.Write(ctx, func(c sqlite.Conn) error { return fn(tx{c, ctx}) })
}

// Keeper keeps a database open, and replaces a damaged one. All methods may be called concurrently.
type Keeper struct {
	path string
	sync sqlite.Sync
	now  func() time.Time
	log  *slog.Logger

	mu    sync.Mutex
	store *Store       // nil means not open
	check sqlite.Check // for the next opening
}

// NewKeeper returns a keeper of the database at path. The first use opens it.
func NewKeeper(path string, safe sqlite.Sync, now func() time.Time, log *slog.Logger) *Keeper {
	return &Keeper{path: path, sync: safe, now: now, log: log, check: sqlite.Quick}
}

// Store returns the database, opened and migrated.
func (k *Keeper) Store(ctx context.Context) (*Store, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.store != nil {
		return k.store, nil
	}
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	db, err := sqlite.OpenAnew(ctx, sqlite.Config{Path: k.path, Sync: k.sync, Check: k.check, Migrations: folder}, k.now(), k.log)
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	k.store, k.check = &Store{db}, sqlite.Quick
	return k.store, nil
}

// Replace closes a damaged store. The next [Keeper.Store] checks the file and renames it,
// unless another process has already done so.
func (k *Keeper) Replace(bad *Store) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.store != bad {
		return nil // another goroutine has replaced it
	}
	k.store, k.check = nil, sqlite.Integrity
	return bad.Close()
}

// Close closes the database.
func (k *Keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	s := k.store
	if k.store = nil; s == nil {
		return nil
	}
	return s.Close()
}
