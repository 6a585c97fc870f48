package logtest

import (
	"context"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/suitetest"
	"github.com/twofold-go/twofold/invalidate"
)

// Tx is a transaction of an application, on the database that holds the log. Its methods are not
// called concurrently.
type Tx interface {
	// Append adds an invalidation to the transaction.
	Append(ctx context.Context, scopes ...invalidate.Scope) error

	// Commit ends the transaction. Its appends are visible when it returns.
	Commit() error

	// Rollback ends the transaction without any effect.
	Rollback() error
}

// Transactional is a log that takes invalidations in an application's transactions. Open and
// Begin are required. A subtest that needs another function is skipped when that function is nil.
type Transactional struct {
	// Open makes a fresh log and returns a function that opens a handle on it, as for
	// [TestLog].
	Open func(t *testing.T) func() invalidate.Log

	// Begin begins a transaction of the process that has the handle. The suite calls it
	// concurrently.
	Begin func(ctx context.Context, log invalidate.Log) (Tx, error)

	// OneWriter says that an open transaction blocks all other writers, and each Sync that has
	// something to write. Then the suite never opens two transactions at a time.
	OneWriter bool

	// Savepoint sets a savepoint and returns a function that rolls back to it.
	Savepoint func(ctx context.Context, tx Tx) (rollback func() error, err error)

	// Prepare is the first phase of a two-phase commit. Commit and Rollback of the transaction
	// are then the second phase.
	Prepare func(ctx context.Context, tx Tx) error

	// Damage writes, in the transaction, an invalidation that cannot be read.
	Damage func(ctx context.Context, tx Tx) error

	// Drop removes the log's tables.
	Drop func(ctx context.Context, log invalidate.Log) error
}

// TestTransactional checks that the invalidations of a transaction commit or roll back with it,
// and that the cells of keys are removed before any process sees the record. Run [TestLog] as
// well, which checks the rest.
func TestTransactional(t *testing.T, db Transactional) {
	t.Helper()
	suitetest.Run(t, txTests, func(t *testing.T) *txTest { return newTxTest(t, db) })
}

// transactionalInBubble runs each subtest in a testing/synctest bubble.
func transactionalInBubble(t *testing.T, db Transactional) {
	t.Helper()
	suitetest.InBubble(t, txTests, func(t *testing.T) *txTest { return newTxTest(t, db) })
}

var txTests = []suitetest.Case[*txTest]{
	{"a commit reaches every process", txCommit},
	{"a rollback leaves nothing", txSteps(begin(1), add(1, 1), rollback(1), read, write(2), read)},
	{"a savepoint rolled back drops its part", txSavepoint},
	{"a prepared transaction waits for its second phase", txSteps(
		begin(1), add(1, 1), prepare(1), begin(2), add(2, 2), prepare(2), read,
		write(3), // prepared transactions block no other
		read, rollback(2), commit(1), read,
	)},
	{"a sync returns commits and what it appends", txBoth},
	{"a transaction of many scopes", txMany},
	{"what cannot be appended is refused", txRefused},
	{"tail finds a commit that no sync has seen", txTail},
	{"writers commit in the reverse order of their appends", txSteps(
		(*txTest).twoWriters, begin(1), begin(2), add(1, 1), add(2, 2), commit(2), read, commit(1), read,
	)},
	// A log may remember up to where it has numbered everything. It must not skip rows of
	// transactions that began before that point, whenever they append and commit.
	{"an old transaction stays open", txSteps(
		(*txTest).twoWriters, begin(1), begin(2), begin(3), add(1, 1), add(2, 2), write(10), read, write(11), read, write(12), read,
		add(2, 4), add(3, 3), read, commit(2), read, write(20), read, commit(1), commit(3), read,
	)},
	{"a commit while a sync removes cells", txGap},
	{"an old commit while a sync removes cells", txOldGap},
	{"cells go before the record comes", txOrder},
	{"no old value survives in a cell", txClaims},
	{"a process dies while it removes cells", txCrash},
	{"cells that cannot be removed are covered", txCovered},
	{"many writers and many syncs", txConcurrent},
	{"a damaged row gives up what is older", txDamaged},
	{"without tables everything fails", txDropped},
}
