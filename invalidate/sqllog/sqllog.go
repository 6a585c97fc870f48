package sqllog

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Log is an [invalidate.Log] in the application's own database. The zero Log fails every call with
// [ErrConfig]. All methods may be called concurrently. A Log has no goroutine, and Close does nothing.
// Close its pools after the caches that follow it.
//
// The errors of its methods name the operation and wrap the error of ctx or of the database.
type Log struct {
	db  *sql.DB
	cfg Config // with the defaults filled in
	sql statements
	err error // why the configuration is refused

	wake chan struct{} // holds one: a transaction was committed in this process

	rows  sizes
	hooks hooks
	stats counters
	path  atomic.Pointer[string] // of the SQLite file; empty if in memory, nil if not known yet

	mu sync.Mutex // protects at
	at invalidate.Cursor
}

var _ invalidate.Log = (*Log)(nil)

// New returns a log in the tables of db. The caller keeps db. New sends nothing to the database.
// [Log.Validate] and every call report what is wrong with the configuration.
func New(db *sql.DB, cfg Config) *Log {
	cfg = cfg.filled()
	l := &Log{db: db, cfg: cfg, err: errors.Join(noPool(db), cfg.Validate()), wake: make(chan struct{}, 1)}
	if l.err == nil {
		l.sql = newStatements(&l.cfg)
	}
	return l
}

// Validate returns everything that is wrong with the configuration, joined, or nil. Each fault
// wraps [ErrConfig]. It sends nothing to the database.
func (l *Log) Validate() error {
	if l.db == nil && l.err == nil { // the zero Log
		return errors.Join(noPool(nil), Config{}.Validate())
	}
	return l.err
}

func noPool(db *sql.DB) error {
	if db != nil {
		return nil
	}
	return fmt.Errorf("%w: db is nil; pass the pool of the database that the application writes to", ErrConfig)
}

// Bound returns [Config.Bound], or the default.
func (l *Log) Bound() time.Duration {
	if l.cfg.Bound <= 0 {
		return DefaultBound
	}
	return l.cfg.Bound
}

// Committed tells the log that this process has committed a transaction with an Append, so its Tail
// numbers the row immediately. It is optional and never blocks. [Log.Tx] calls it.
func (l *Log) Committed() {
	select {
	case l.wake <- struct{}{}:
	default: // an earlier signal still waits for a Tail
	}
}

// Open tells the log how to remove cells from the remote tier of the fleet, and which process reads the texts
// of its rows; see [invalidate.Hooks].
//
// The log notes the first tier of the fleet, and refuses a process with another one: [ErrCells]. A
// process that has not called Open counts as one without a remote tier. When Remove fails, the
// log also fences the keys in the sequence of scopes. These fences cover the cells that remain.
func (l *Log) Open(h invalidate.Hooks) {
	l.hooks.mu.Lock()
	defer l.hooks.mu.Unlock()
	l.hooks.known, l.hooks.Hooks = true, h
}

// Server returns nothing: the log removes cells by a hook.
func (*Log) Server() string { return "" }

// Close does nothing. The caller keeps the pools.
func (*Log) Close() error { return nil }

// hooks holds the argument of Open.
type hooks struct {
	mu    sync.Mutex // protects all fields
	known bool
	invalidate.Hooks
}

// get returns the hooks, and whether the log was opened.
func (h *hooks) get() (hooks invalidate.Hooks, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Hooks, h.known
}

// Stats describes what this process has done with a log, and seen of it.
type Stats struct {
	Numbered int64 // rows that it has numbered
	Damaged  int64 // rows that did not parse; for each, processes discarded everything older
	Left     int64 // cells that could not be removed, and were fenced as prefixes

	// Oldest is the age of the oldest row without a number at the last look, or 0 if there was
	// none.
	Oldest time.Duration
}

type counters struct {
	numbered, damaged, left, oldest atomic.Int64
	loggedDamage                    atomic.Bool // a damaged row was logged
}

// Stats returns the counters. It sends nothing to the database.
func (l *Log) Stats() Stats {
	return Stats{
		Numbered: l.stats.numbered.Load(),
		Damaged:  l.stats.damaged.Load(),
		Left:     l.stats.left.Load(),
		Oldest:   time.Duration(l.stats.oldest.Load()),
	}
}

func (l *Log) logger() *slog.Logger {
	if l.cfg.Logger != nil {
		return l.cfg.Logger
	}
	return slog.Default()
}
