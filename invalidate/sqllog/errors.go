package sqllog

import (
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
)

// The errors of this package. Calls also return errors of ctx and of the database. No text of
// this package has a key or a payload.
var (
	// ErrConfig is wrapped by each fault that [Log.Validate] reports.
	ErrConfig = errors.New("sqllog: bad configuration")

	// ErrNotTx refuses a *sql.DB in place of a transaction: the invalidation would commit by
	// itself, before the data or without it.
	ErrNotTx = errors.New("sqllog: not a transaction: pass the *sql.Tx that writes the data, or use Log.Tx")

	// ErrScope refuses a scope that does not pass Validate.
	ErrScope = outbox.ErrScope

	// ErrAppend refuses an append that cannot be written as a record. Nothing was appended.
	ErrAppend = errors.New("sqllog: bad append")

	// ErrSchema says that the tables are missing, or are of another version.
	ErrSchema = errors.New("sqllog: tables are missing or of another version: apply migration 0001_twofold_log of sqllog.Migrations, or call Log.Install; " +
		"drop tables of another version first, or name others in Config.Tables")

	// ErrStandby says that the server, or the session, takes no writes. A log there may lag,
	// so it must not renew a lease.
	ErrStandby = errors.New("sqllog: server or session takes no writes: connect to the primary, without default_transaction_read_only or READ UNCOMMITTED")

	// ErrRights says that the user lacks a right that a follower or a writer needs.
	ErrRights = errors.New("sqllog: user lacks rights: writers need INSERT on the outbox; followers SELECT and DELETE on it, " +
		"SELECT, INSERT and DELETE on the log, SELECT, INSERT and UPDATE on meta")

	// ErrCells refuses a process whose remote tier is of another kind than the fleet's. It
	// would number rows without removing the cells that the other processes read.
	ErrCells = errors.New("sqllog: another remote tier than the fleet's: configure the same one, or call Log.NewEpoch when the fleet has changed")

	// ErrEpochs says that the log, or the cursor, is in the last epoch that a log can hold.
	ErrEpochs = errors.New("sqllog: no epoch is left: stop the processes of a higher epoch, then call Log.NewEpoch")

	// ErrBusy says that other processes changed the log during every attempt.
	ErrBusy = errors.New("sqllog: log changed during every attempt: try again")

	// ErrCommit refuses Commit and Rollback on the transaction of [Log.Tx].
	ErrCommit = errors.New("sqllog: Log.Tx ends its transaction itself: return nil to commit, an error to roll back")
)

// fail names the operation.
func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqllog: %s: %w", op, explain(err))
}

// explain adds what a database error means for a log. It recognizes errors by their codes and
// texts, because the package imports no driver.
func explain(err error) error {
	var meaning error
	switch {
	case errors.Is(err, ErrSchema), errors.Is(err, ErrStandby), errors.Is(err, ErrRights), errors.Is(err, sqltext.ErrPooled):
		return err
	case sqltext.Says(err, sqltext.NoTable, sqltext.NoColumn):
		meaning = ErrSchema
	case sqltext.Says(err, sqltext.Standby):
		meaning = ErrStandby
	case sqltext.Says(err, sqltext.NoRight):
		meaning = ErrRights
	case sqltext.Says(err, sqltext.Pooled):
		meaning = sqltext.ErrPooled
	default:
		return err
	}
	return fmt.Errorf("%w: %w", meaning, err)
}
