package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/invalidate"
)

// Tx is the transaction of [Log.Tx]: a *sql.Tx that collects scopes. It ends when the function that
// got it returns. Its own methods must not be called concurrently.
type Tx struct {
	*sql.Tx
	scopes []invalidate.Scope
}

// Invalidate adds scopes that the transaction invalidates when it commits. Log.Tx checks and writes
// them before COMMIT. A bad scope rolls the transaction back.
func (t *Tx) Invalidate(scopes ...invalidate.Scope) { t.scopes = append(t.scopes, scopes...) }

// Commit always fails: Log.Tx commits.
func (t *Tx) Commit() error { return ErrCommit }

// Rollback always fails: return an error from the function instead.
func (t *Tx) Rollback() error { return ErrCommit }

// Tx runs do in a transaction on db, which must be the log's database. When do returns
// nil, Tx writes the scopes that do passed to [Tx.Invalidate], commits, and calls
// [Log.Committed]. When do returns an error or panics, Tx rolls back. opts may be nil.
//
// An error of COMMIT does not tell whether the transaction was committed. Data and invalidation
// commit together or not at all, so caches stay right either way.
func (l *Log) Tx(ctx context.Context, db *sql.DB, opts *sql.TxOptions, do func(*Tx) error) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if db == nil {
		return fmt.Errorf("%w: db of Tx is nil; pass the log's database", ErrConfig)
	}
	begun, err := db.BeginTx(ctx, opts)
	if err != nil {
		return fail("begin", err)
	}
	defer begun.Rollback() //nolint:errcheck // nothing is left to roll back after COMMIT
	tx := &Tx{Tx: begun}
	if err := do(tx); err != nil {
		return err
	}
	if err := l.Append(ctx, begun, tx.scopes...); err != nil {
		return err
	}
	if err := begun.Commit(); err != nil {
		return fail("commit", errors.Join(err, ctx.Err()))
	}
	if len(tx.scopes) > 0 {
		l.Committed()
	}
	return nil
}
