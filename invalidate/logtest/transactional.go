package logtest

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/twofold-go/twofold/internal/suitetest"
	"github.com/twofold-go/twofold/invalidate"
)

// Tx is a transaction of an application, on the database that holds the log. Its methods are not
// called concurrently.
type Tx interface {
	// Append adds an invalidation to the transaction.
	Append(ctx context.Context, scopes ...invalidate.Scope) error

	// Commit ends the transaction. Its appends are visible at once.
	Commit() error

	// Rollback ends the transaction without any effect.
	Rollback() error
}

// Transactional is a log that takes invalidations in an application's transactions. Open and
// Begin are required. A subtest that needs another function is skipped when that function is nil.
type Transactional struct {
	// Open makes a fresh log and returns a function that opens a handle on it, as for
	// [TestLog]. Handles are [invalidate.CellUser]s.
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
	{"a rollback leaves nothing", txRollback},
	{"a savepoint rolled back drops its part", txSavepoint},
	{"a prepared transaction waits for its second phase", txPrepared},
	{"a sync returns commits and what it appends", txBoth},
	{"a transaction of many scopes", txMany},
	{"a hold is kept", txHold},
	{"what cannot be appended is refused", txRefused},
	{"tail finds a commit that no sync has seen", txTail},
	{"writers commit in the reverse order of their appends", txReverse},
	{"an old transaction stays open", txOld},
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

// txTest is one subtest of [TestTransactional].
type txTest struct {
	*logTest

	db    Transactional
	cells *cells
}

func newTxTest(t *testing.T, db Transactional) *txTest {
	t.Helper()
	open, c := db.Open(t), newCells()
	return &txTest{db: db, cells: c, logTest: &logTest{T: t, open: func() invalidate.Log {
		l := open()
		u, ok := l.(invalidate.CellUser)
		if !ok {
			t.Fatal("a log with transactions must be an invalidate.CellUser, because it must remove the cells of their keys")
		}
		u.UseCells("logtest", c.remove)
		return l
	}}}
}

// begin begins a transaction. It is rolled back at the end of the subtest if it is still open.
func (t *txTest) begin(r *reader) *tx {
	t.Helper()
	x, err := t.tryBegin(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.rollback() })
	return x
}

func (t *txTest) tryBegin(r *reader) (*tx, error) {
	inner, err := t.db.Begin(t.Context(), r.log)
	return &tx{t: t, Tx: inner}, err
}

// tx is a transaction, and what it has appended.
type tx struct {
	Tx

	t        *txTest
	appended []invalidate.Scope
	over     bool
}

// try appends and commits, for use in goroutines.
func (x *tx) try(scopes ...invalidate.Scope) error {
	x.appended = append(x.appended, scopes...)
	if err := x.Append(x.t.Context(), scopes...); err != nil {
		return errors.Join(err, x.rollback())
	}
	return x.tryCommit()
}

func (x *tx) tryCommit() error {
	x.over = true
	x.t.cells.committing(x.appended)
	return x.Commit()
}

func (x *tx) rollback() error {
	if x.over {
		return nil
	}
	x.over = true
	return x.Rollback()
}

func (x *tx) append(scopes ...invalidate.Scope) {
	x.t.Helper()
	x.appended = append(x.appended, scopes...)
	x.t.must(x.Append(x.t.Context(), scopes...))
}

func (x *tx) commit() {
	x.t.Helper()
	x.t.must(x.tryCommit())
}

// write commits a transaction with the scopes.
func (t *txTest) write(r *reader, scopes ...invalidate.Scope) {
	t.Helper()
	x := t.begin(r)
	x.append(scopes...)
	x.commit()
}

func (t *txTest) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sync reads to the end of the log, and checks that the cells of all records were removed.
func (t *txTest) sync(r *reader) {
	t.Helper()
	r.sync(invalidate.Append{})
	t.must(t.cells.check(r))
}

// wantSeen checks that the reader has records of all scopes.
func (t *txTest) wantSeen(r *reader, scopes ...invalidate.Scope) {
	t.Helper()
	for _, s := range scopes {
		if !r.has(s.Fence()) {
			t.Errorf("%v was committed, and no record names it", s)
		}
	}
}

func (t *txTest) wantUnseen(r *reader, scopes ...invalidate.Scope) {
	t.Helper()
	for _, s := range scopes {
		if r.has(s.Fence()) {
			t.Errorf("%v was not committed, and a record names it", s)
		}
	}
}

func (r *reader) has(f invalidate.Fence) bool {
	records := r.scopes
	if f.OfKeys() {
		records = r.keys
	}
	return slices.ContainsFunc(records, func(rec invalidate.Record) bool { return slices.Contains(rec.Fences, f) })
}

// wantNothing checks that nothing was appended since the reader's last sync.
func (r *reader) wantNothing() {
	r.t.Helper()
	before := r.at
	if r.sync(invalidate.Append{}); r.at != before {
		r.t.Fatalf("the log went on from %s, %s to %s, %s; want nothing appended",
			spell(before.Key), spell(before.Scope), spell(r.at.Key), spell(r.at.Scope))
	}
}

// wantSame checks that two handles saw the same records in the same order.
func (r *reader) wantSame(other *reader) {
	r.t.Helper()
	if !slices.EqualFunc(r.keys, other.keys, same) {
		r.t.Errorf("two handles see different keys:\n%+v\n%+v", r.keys, other.keys)
	}
	if !slices.EqualFunc(r.scopes, other.scopes, same) {
		r.t.Errorf("two handles see different scopes:\n%+v\n%+v", r.scopes, other.scopes)
	}
}
