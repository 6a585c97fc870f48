package sqllog

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strings"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate"
)

// maxEpoch is the last epoch whose positions fit into a signed column.
const maxEpoch = math.MaxInt32

// NewEpoch starts a new epoch, and clears the note of the fleet's remote tier. It costs every
// process what it has cached. Call it when the tables were put back to an older state in a way that
// leaves no trace; the package's documentation lists these ways. Cells may then be newer than the
// data. When in doubt, call it. Call it also when the fleet gets another remote tier.
func (l *Log) NewEpoch(ctx context.Context) error {
	if err := l.Validate(); err != nil {
		return err
	}
	var err error
	for range maxAttempts {
		if _, err = l.startEpoch(ctx, invalidate.Cursor{}, true); !sqltext.Says(err, sqltext.Retry) || ctx.Err() != nil {
			break
		}
	}
	return fail("new epoch", err)
}

// startEpoch starts an epoch above every position that is known here. Under the lock it checks
// again whether there is a doubt, and does nothing if not: another process has already started an
// epoch, or was only numbering. With forced it needs no reason.
func (l *Log) startEpoch(ctx context.Context, at invalidate.Cursor, forced bool) (started bool, err error) {
	err = withConn(ctx, l.db, func(conn *sql.Conn) error {
		tx, err := l.lock(ctx, conn)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // nothing is left to roll back after COMMIT
		v, err := l.look(ctx, tx, at)
		switch {
		case err != nil:
			return err
		case v.identity == "":
			return ErrStandby
		case !forced && !v.doubtful(at):
			return nil
		}
		if err := l.bump(ctx, tx, &v, at, forced); err != nil {
			return err
		}
		started = true
		return tx.Commit()
	})
	return started && err == nil, err
}

// lock begins a transaction that locks the row of meta, and creates the row if it is missing. A
// process that freezes in this transaction would block all others, so lock makes the database end
// such a transaction, where the database can.
func (l *Log) lock(ctx context.Context, conn *sql.Conn) (*sql.Tx, error) {
	var opts *sql.TxOptions
	if l.cfg.Dialect != SQLite {
		opts = &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	tx, err := conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	for _, q := range []sqltext.Query{l.sql.patience, l.sql.begin, l.sql.lock} {
		if q.Text == "" {
			continue
		}
		if _, err := l.exec(ctx, tx, &q); err != nil {
			_ = tx.Rollback() // err says what went wrong
			return nil, err
		}
	}
	return tx, nil
}

// bump writes the first record of a new epoch into both sequences, and notes the epoch.
func (l *Log) bump(ctx context.Context, tx *sql.Tx, v *state, at invalidate.Cursor, forgetTier bool) error {
	var top bySeq[int64] // the last records, even those that the notes do not name
	if err := l.row(ctx, tx, &l.sql.top).Scan(&top[keySeq], &top[scopeSeq]); err != nil {
		return err
	}
	last := max(top[keySeq], top[scopeSeq], v.noted.pos[keySeq], v.noted.pos[scopeSeq]) >> 32
	epoch := max(last, int64(at.Key.Epoch()), int64(at.Scope.Epoch())) + 1
	if epoch > maxEpoch {
		return fmt.Errorf("%w (the last is %d)", ErrEpochs, epoch-1)
	}
	id := newID()
	for seq := keySeq; seq <= scopeSeq; seq++ {
		if _, err := l.exec(ctx, tx, &l.sql.add, seq, epoch<<32, v.pos[seq], id, v.lastID(seq), ""); err != nil {
			return err
		}
	}
	forget := 0
	if forgetTier {
		forget = 1
	}
	identity := strings.TrimPrefix(v.identity, markText)
	if _, err := l.exec(ctx, tx, &l.sql.epoch, identity, id, epoch<<32, logwire.Millis(l.cfg.Bound), forget); err != nil {
		return err
	}
	return l.writeSidecar(&v.witness, &ends{epoch: id, pos: bySeq[int64]{keySeq: epoch << 32, scopeSeq: epoch << 32}, id: bySeq[int64]{keySeq: id, scopeSeq: id}})
}

// lastID returns the id of the last record of a sequence, or 0 if the record is missing.
func (v *state) lastID(seq int) int64 {
	if v.pos[seq] == v.noted.pos[seq] {
		return v.foundID[seq].Int64
	}
	return v.id[seq]
}
