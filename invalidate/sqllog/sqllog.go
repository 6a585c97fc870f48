package sqllog

import (
	"context"
	"database/sql"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Log is an [invalidate.Log] in the application's own database. The zero Log fails every
// call with [ErrConfig]. All methods may be called concurrently. A Log has no goroutine
// and needs no closing; its pools are to be closed after the caches that follow it.
//
// The errors of its methods name the operation and wrap what ctx or the database said.
type Log struct {
	db  *sql.DB
	cfg Config // with the defaults filled in
	sql statements
	err error // why the configuration is refused

	wake chan struct{} // holds one: something was committed here

	rows  sizes
	cells cells
	stats counters

	mu sync.Mutex // protects at
	at invalidate.Cursor
}

var _ invalidate.Log = (*Log)(nil)

// New returns a log in the tables of db, which stays the caller's. It does not talk to
// the database; what is wrong with the configuration is reported by [Log.Validate] and by
// every call.
func New(db *sql.DB, cfg Config) *Log {
	cfg = cfg.filled()
	l := &Log{db: db, cfg: cfg, err: cfg.check(db), wake: make(chan struct{}, 1)}
	if l.err == nil {
		l.sql = newStatements(&l.cfg)
	}
	return l
}

// Validate returns everything that is wrong with the configuration, joined, or nil; each
// fault wraps [ErrConfig]. It does not talk to the database.
func (l *Log) Validate() error {
	if l.db == nil && l.err == nil {
		return (&Config{}).check(nil)
	}
	return l.err
}

// Bound returns what the Config says.
func (l *Log) Bound() time.Duration {
	if l.cfg.Bound <= 0 {
		return DefaultBound
	}
	return l.cfg.Bound
}

// Committed tells the log that a transaction with an Append was committed in this
// process: its Tail numbers the row at once. It is optional and never blocks. [Log.Tx]
// calls it.
func (l *Log) Committed() {
	select {
	case l.wake <- struct{}{}:
	default: // a Tail will see the earlier one, or there is none
	}
}

// UseCells tells the log how to remove cells from the remote tier of the fleet; see
// [invalidate.CellUser]. tier names the kind of tier. An empty tier and a nil remove say
// that there is none. It is called once, before the first Sync.
//
// The log notes the first tier that it is told of, and refuses processes with another by
// [ErrCells]. A process that has not called UseCells has none. When remove fails, the keys are fenced in the sequence of scopes instead,
// whose fences cover cells that are still there.
func (l *Log) UseCells(tier string, remove func(ctx context.Context, keys []string, hold time.Duration) error) {
	l.cells.mu.Lock()
	defer l.cells.mu.Unlock()
	l.cells.known, l.cells.tier, l.cells.remove = true, tier, remove
}

// cells is what UseCells has said.
type cells struct {
	mu     sync.Mutex // protects all fields
	known  bool
	tier   string
	remove func(ctx context.Context, keys []string, hold time.Duration) error
}

// Stats is what this process has done with a log and has seen of it.
type Stats struct {
	Numbered int64 // rows that it has given a number
	Damaged  int64 // rows that did not parse; everything older was given up for each
	Left     int64 // cells that could not be removed, and were fenced as prefixes

	// Oldest is the age of the oldest row without a number at the last look; 0: there
	// was none.
	Oldest time.Duration
}

type counters struct {
	numbered, damaged, left, oldest atomic.Int64
	told                            atomic.Bool // of a damaged row, in the application's log
}

// Stats returns the counters. It does not talk to the database.
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
