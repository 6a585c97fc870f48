package logtest_test

import (
	"context"
	"slices"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/invalidate"
)

// fakeTx is a transaction on a fakeDB.
type fakeTx struct {
	h        *fakeHandle
	xid      int
	rows     []fakeRow
	prepared bool
}

func (h *fakeHandle) begin() *fakeTx {
	h.db.mu.Lock()
	defer h.db.mu.Unlock()
	h.db.xids++
	h.db.open[h.db.xids] = true
	return &fakeTx{h: h, xid: h.db.xids}
}

func (tx *fakeTx) Append(ctx context.Context, scopes ...invalidate.Scope) error {
	_ = fault.Sleep(ctx, time.Microsecond) // other goroutines of the bubble go on
	f := &tx.h.db.faults
	for _, s := range scopes {
		if err := s.Validate(); err != nil && !f.takesBad {
			return err
		}
	}
	if len(scopes) == 0 {
		return nil
	}
	row := fakeRow{scopes: slices.Clone(scopes)}
	if f.removesInAppend {
		if err := tx.h.removeScopes(ctx, []fakeRow{row}); err != nil {
			return err
		}
	}
	return tx.add(row)
}

func (tx *fakeTx) add(row fakeRow) error {
	db := tx.h.db
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.dropped && !db.faults.appendsNowhere {
		return errNoTables
	}
	db.ids++
	row.id, row.xid = db.ids, tx.xid
	if db.faults.seesOpen {
		db.rows = append(db.rows, row)
	} else {
		tx.rows = append(tx.rows, row)
	}
	return nil
}

func (tx *fakeTx) Commit() error {
	tx.end(!tx.h.db.faults.commitForgets && (!tx.prepared || !tx.h.db.faults.prepareForgets))
	return nil
}

func (tx *fakeTx) Rollback() error {
	tx.end(tx.h.db.faults.rollbackCommits)
	return nil
}

func (tx *fakeTx) end(commit bool) {
	db := tx.h.db
	db.mu.Lock()
	defer db.mu.Unlock()
	if delete(db.open, tx.xid); commit {
		db.rows = append(db.rows, tx.rows...)
	}
	tx.rows = nil
}

func (tx *fakeTx) savepoint() (rollback func() error) {
	kept := len(tx.rows)
	return func() error {
		switch f := tx.h.db.faults; {
		case f.savepointDropsAll:
			tx.rows = nil
		case !f.savepointKeeps:
			tx.rows = tx.rows[:kept]
		}
		return nil
	}
}

func (tx *fakeTx) prepare() error {
	tx.prepared = true
	if db := tx.h.db; db.faults.prepareCommits {
		db.mu.Lock()
		defer db.mu.Unlock()
		db.rows, tx.rows = append(db.rows, tx.rows...), nil
	}
	return nil
}
