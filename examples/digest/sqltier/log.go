package sqltier

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store/prepared"
	"github.com/twofold-go/twofold/invalidate"
)

// What a [LogConfig] leaves zero.
const (
	DefaultBound  = 2 * time.Second
	DefaultRetain = 50_000
	DefaultPoll   = 20 * time.Millisecond
)

// LogConfig says how a log works. Its zero value is useful.
type LogConfig struct {
	// Bound is how long a process may trust what it knows after a Sync. Processes of
	// one file should have the same. 0: DefaultBound.
	Bound time.Duration

	// Retain is how many records each sequence keeps, at the least. A process that
	// was away for longer gives up what it holds. 0: DefaultRetain.
	Retain int

	// Poll is how often a Tail looks whether another process has appended. Nothing
	// rests on it. 0: DefaultPoll.
	Poll time.Duration

	// Now is the log's clock, for measuring lag. Nil: time.Now.
	Now func() time.Time
}

// Log is an [invalidate.Log] in the file of a [Tier], and an [invalidate.CellRemover] of
// its cells. All methods may be called concurrently. It has no goroutine and needs no
// closing; the pools are to be closed after whoever follows it.
type Log struct {
	tier *Tier
	cfg  LogConfig
}

var (
	_ invalidate.Log         = (*Log)(nil)
	_ invalidate.CellRemover = (*Log)(nil)
)

// The errors of a Log, beside those of the database.
var (
	// ErrAppend refuses what a record cannot hold. Nothing is appended then.
	ErrAppend = errors.New("sqltier: bad append")

	// ErrEpochs refuses a cursor in the last epoch a position can hold.
	ErrEpochs = errors.New("sqltier: no epoch is left")
)

// NewLog returns the log in the tier's file. One handle belongs to one process.
func NewLog(t *Tier, cfg LogConfig) *Log {
	cfg.Bound = cmp.Or(cfg.Bound, DefaultBound)
	cfg.Retain = cmp.Or(cfg.Retain, DefaultRetain)
	cfg.Poll = cmp.Or(cfg.Poll, DefaultPoll)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Log{tier: t, cfg: cfg}
}

// Bound returns what the LogConfig says.
func (l *Log) Bound() time.Duration { return l.cfg.Bound }

// Validate returns what is wrong with the tier, or nil.
func (l *Log) Validate() error { return l.tier.Validate() }

// RemovesFrom reports whether server is the pool that the log writes with.
func (l *Log) RemovesFrom(server any) bool {
	db, ok := server.(*sql.DB)
	return ok && db == l.tier.cfg.Writer
}

// Sync appends a and returns what lies behind at; see [invalidate.Log]. One that has
// nothing to append reads, and waits for no writer.
func (l *Log) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	p, err := l.sync(ctx, at, a, nil)
	return p, fail("sync", err)
}

// SyncRemoving is Sync, and removes cells in the same transaction.
func (l *Log) SyncRemoving(ctx context.Context, at invalidate.Cursor, a invalidate.Append, cells []string) (invalidate.Page, error) {
	p, err := l.sync(ctx, at, a, cells)
	return p, fail("sync", err)
}

func (l *Log) sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append, cells []string) (p invalidate.Page, err error) {
	if err := l.tier.ready(ctx); err != nil {
		return p, err
	}
	payloads, err := encode(a)
	if err != nil {
		return p, err
	}
	r := newReading(ctx, l, at)
	if len(cells)+len(a.Keys)+len(a.Scopes) == 0 {
		p, err = r.look(true)
		if !errors.Is(err, errDoubtful) {
			return p, err
		}
	}
	err = l.tier.writer.Do(ctx, func(tx *prepared.Tx) error {
		if err := l.tier.remove(ctx, tx, cells); err != nil {
			return err
		}
		r.tx = tx
		p, err = r.append(payloads)
		return err
	})
	return p, err
}

// Tail waits until something lies behind at and returns it; after a quarter of Bound,
// an empty page.
func (l *Log) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	poll := time.NewTicker(l.cfg.Poll)
	defer poll.Stop()
	patience := time.NewTimer(l.cfg.Bound / 4)
	defer patience.Stop()
	r := newReading(ctx, l, at)
	for {
		if err := l.tier.ready(ctx); err != nil {
			return invalidate.Page{}, fail("tail", err)
		}
		p, err := r.look(false)
		if err != nil || len(p.Keys)+len(p.Scopes) > 0 {
			return p, fail("tail", err)
		}
		select {
		case <-poll.C:
		case <-patience.C:
			return invalidate.Page{}, nil
		case <-ctx.Done():
		}
	}
}

// look reads what lies behind the caller, as of one moment. A Sync, which proves
// something, is told by errDoubtful that there is something to be written first.
func (r *reading) look(proves bool) (p invalidate.Page, err error) {
	err = r.log.tier.readers.Do(r.ctx, func(tx *prepared.Tx) error {
		r.tx = tx
		m, err := r.meta()
		if err != nil {
			return err
		}
		if proves && (r.doubtful(&m) || m.bound < r.log.cfg.Bound) {
			return errDoubtful
		}
		p, err = r.page(&m)
		if !proves { // those are for a Sync to say
			p.More, p.End = false, invalidate.Cursor{}
		}
		return err
	})
	return p, err
}
