package sqllog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate"
)

// Sync numbers every committed row that has no number, appends a, and returns the records after
// at; see [invalidate.Log]. If nothing is new, it is one statement.
//
// It removes the cells of the keys in the rows before it numbers the rows. If it is interrupted
// between the two, the next Sync of any process does both again.
//
// Its errors wrap ErrAppend (then nothing was appended), ErrSchema, ErrStandby, ErrRights,
// ErrCells, ErrEpochs, ErrBusy, ErrConfig, or an error of ctx or of the database.
func (l *Log) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	if err := l.Validate(); err != nil {
		return invalidate.Page{}, err
	}
	keys, scopes, err := logwire.Payloads(a)
	if err != nil {
		return invalidate.Page{}, fmt.Errorf("%w: %w", ErrAppend, err)
	}
	l.noteApplied(at)
	p, err := (&visit{log: l, at: at, own: bySeq[string]{keySeq: keys, scopeSeq: scopes}, sync: true}).run(ctx)
	if err == nil {
		l.noteAnswer(p)
	}
	return p, fail("sync", err)
}

// visit is one Sync, or one look of a Tail.
type visit struct {
	log  *Log
	at   invalidate.Cursor
	own  bySeq[string] // payloads to append, or ""
	sync bool          // it is a Sync

	caughtUp bool // every row that was committed when it began is numbered
	cellsOut bool // cells could not be removed; it does not try again
	epochs   int  // how many it has started
}

// Limits of a visit to a log that others keep changing, or whose identity keeps changing.
const (
	maxAttempts = 50
	maxEpochs   = 3
)

// run makes attempts until one has the answer. Each earlier attempt does one task that must be done
// first.
func (s *visit) run(ctx context.Context) (p invalidate.Page, err error) {
	for n := range maxAttempts {
		var done bool
		p, done, err = s.attempt(ctx)
		switch {
		case done:
			return p, nil
		case ctx.Err() != nil:
			return invalidate.Page{}, cmp.Or(err, ctx.Err())
		case err != nil && !sqltext.Says(err, sqltext.Retry):
			return invalidate.Page{}, err
		case err != nil:
			select {
			case <-time.After(time.Duration(min(n+1, 5)) * time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return invalidate.Page{}, fmt.Errorf("%w: last: %w", ErrBusy, cmp.Or(err, ErrBusy))
}

// attempt looks at the log. When no task must be done first, it returns the records after the
// caller's position, on the same connection.
func (s *visit) attempt(ctx context.Context) (p invalidate.Page, done bool, err error) {
	var v state
	var first task
	err = withConn(ctx, s.reads(), func(conn *sql.Conn) error {
		if p, done, err = s.unchanged(ctx, conn); done || err != nil {
			return err
		}
		if v, err = s.log.look(ctx, conn, s.at); err == nil {
			first, err = s.first(&v)
		}
		if err == nil && first == nothing {
			p, err = s.page(ctx, conn, &v)
			done = err == nil
		}
		return err
	})
	if done || err != nil {
		return p, done, err
	}
	switch first {
	case nothing: // done above
	case newEpoch:
		started, err := s.log.startEpoch(ctx, s.at, false)
		if started { // the caller will see the bump, so its ids no longer matter
			s.epochs++
			s.at.KeyID, s.at.ScopeID, s.at.Epoch = 0, 0, 0
		}
		return p, false, err
	case newTerms:
		return p, false, s.log.noteTerms(ctx)
	case newNumbers:
		return s.catchUp(ctx, &v)
	}
	return p, false, nil
}

// reads returns the pool for statements that only read.
func (s *visit) reads() *sql.DB { return cmp.Or(s.log.cfg.Readers, s.log.db) }

// task is what must be done before a visit has its answer.
type task uint8

const (
	nothing    task = iota
	newEpoch        // the log may have lost records
	newTerms        // meta lacks the largest bound, or the remote tier
	newNumbers      // there are rows without a number, or records to append
)

// first returns the task to do first. Only a Sync starts epochs and returns errors. A Tail numbers
// rows unless there is a fault.
func (s *visit) first(v *state) (task, error) {
	fault := s.log.refuses(v)
	if s.sync && fault != nil {
		return nothing, fault
	}
	doubtful := v.doubtful(s.at)
	switch {
	case !s.sync && (doubtful || fault != nil || s.log.outdated(v)):
		return nothing, nil
	case doubtful && s.epochs == maxEpochs:
		return nothing, fmt.Errorf("%w: %d epochs in one Sync: something else changes the table meta, or the pool leads to several servers", ErrBusy, maxEpochs)
	case doubtful:
		return newEpoch, nil
	case s.log.outdated(v):
		return newTerms, nil
	case len(s.own[keySeq])+len(s.own[scopeSeq]) > 0, v.pending.Valid && !s.caughtUp:
		return newNumbers, nil
	}
	return nothing, nil
}

// refuses returns why this process must not use the log: the server takes no writes, or the fleet
// has another remote tier.
func (l *Log) refuses(v *state) error {
	h, _ := l.hooks.get()
	switch {
	case v.epoch != 0 && v.identity == "":
		return ErrStandby
	case v.tier.Valid && v.tier.String != h.Tier:
		return fmt.Errorf("%w (the fleet has %q, this process %q)", ErrCells, v.tier.String, h.Tier)
	}
	return nil
}

// outdated reports whether the log does not know this process's bound or remote tier.
func (l *Log) outdated(v *state) bool {
	_, known := l.hooks.get()
	return v.bound < logwire.Millis(l.cfg.Bound) || known && !v.tier.Valid
}

// noteTerms writes this process's bound and remote tier to meta. The first tier stays.
func (l *Log) noteTerms(ctx context.Context) error {
	h, known := l.hooks.get()
	tier := sql.NullString{String: h.Tier, Valid: known}
	_, err := l.exec(ctx, l.db, &l.sql.terms, logwire.Millis(l.cfg.Bound), tier)
	return err
}

// withConn runs do on one connection of a pool.
func withConn(ctx context.Context, db *sql.DB, do func(conn *sql.Conn) error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it goes back to the pool
	return do(conn)
}
