package logtest_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// fakeDB is a database with an outbox of invalidations, in memory, and a log whose followers
// number the rows of the outbox. Its faults are the rules that a mutant breaks.
type fakeDB struct {
	faults faults
	log    *logtest.Memory

	mu      sync.Mutex // protects all below
	rows    []fakeRow  // committed, without a number
	ids     int        // rows written
	xids    int        // transactions begun
	open    map[int]bool
	low     int // no row of a transaction below it is without a number
	top     int // the highest id that was numbered
	dropped bool
}

type fakeRow struct {
	id, xid int
	scopes  []invalidate.Scope
	damaged bool
}

// faults are the rules that a mutant breaks. The zero faults break none.
type faults struct {
	seesOpen, rollbackCommits, commitForgets, savepointKeeps, savepointDropsAll bool
	prepareCommits, prepareForgets, prepareLocks                                bool
	syncForgetsOwn, cutsMany                                                    bool
	takesBad, tailSleeps, byID, lowIsNewest, lowAfterStage, clearsOutbox        bool
	numbersFirst, removesInAppend, removesNothing, forgetsStaged, ignoresErrors bool
	deletesByCount, skipsDamaged, keepsDamaged, stopsAtDamaged                  bool
	appendsNowhere, syncsNowhere                                                bool
}

func newFakeDB(f faults) *fakeDB {
	return &fakeDB{faults: f, log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound}), open: map[int]bool{}}
}

func (db *fakeDB) transactional() logtest.Transactional {
	return logtest.Transactional{
		Begin:     func(_ context.Context, log invalidate.Log) (logtest.Tx, error) { return log.(*fakeHandle).begin(), nil },
		Savepoint: func(_ context.Context, tx logtest.Tx) (func() error, error) { return tx.(*fakeTx).savepoint(), nil },
		Prepare:   func(_ context.Context, tx logtest.Tx) error { return tx.(*fakeTx).prepare() },
		Damage:    func(_ context.Context, tx logtest.Tx) error { return tx.(*fakeTx).add(fakeRow{damaged: true}) },
		Drop: func(_ context.Context, log invalidate.Log) error {
			log.(*fakeHandle).db.dropped = true
			return nil
		},
	}
}

var errNoTables = errors.New("fake: no tables")

// fakeHandle is the log as one process sees it.
type fakeHandle struct {
	db     *fakeDB
	remove func(ctx context.Context, keys []string) error
}

func (h *fakeHandle) Bound() time.Duration { return bound }

func (h *fakeHandle) Validate() error         { return nil }
func (h *fakeHandle) Open(o invalidate.Hooks) { h.remove = o.Remove }
func (h *fakeHandle) Server() string          { return "" }
func (h *fakeHandle) Close() error            { return nil }

func (h *fakeHandle) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	if err := h.catchUp(ctx); err != nil {
		return invalidate.Page{}, err
	}
	if h.db.faults.syncForgetsOwn && len(a.Keys)+len(a.Scopes) > 0 {
		p, err := h.db.log.Sync(ctx, at, invalidate.Append{})
		p.Key, p.Scope = p.End.Key, p.End.Scope
		return p, err
	}
	p, err := h.db.log.Sync(ctx, at, a)
	return withDamage(p), err
}

func (h *fakeHandle) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	if !h.db.faults.tailSleeps {
		if err := h.catchUp(ctx); err != nil {
			return invalidate.Page{}, err
		}
	}
	p, err := h.db.log.Tail(ctx, at)
	return withDamage(p), err
}

// damage is the fence of a damaged record in the Memory, which cannot hold damaged records.
var damage = invalidate.Fence{Scope: invalidate.Tag("t", "damage")}

func withDamage(p invalidate.Page) invalidate.Page {
	for i, rec := range p.Scopes {
		if slices.Contains(rec.Fences, damage) {
			p.Scopes[i].Fences, p.Scopes[i].Damaged = nil, true
		}
	}
	return p
}

// catchUp stages the rows, removes the cells of their keys, and numbers the rows.
func (h *fakeHandle) catchUp(ctx context.Context) error {
	db, f := h.db, &h.db.faults
	rows, low, err := db.stage()
	_ = fault.Sleep(ctx, time.Microsecond) // other goroutines of the bubble go on
	if err != nil || len(rows) == 0 {
		return err
	}
	if f.numbersFirst {
		return errors.Join(db.number(ctx, rows, low), h.removeCells(ctx, rows))
	}
	if err := h.removeCells(ctx, rows); err != nil && !f.ignoresErrors {
		return err
	}
	return db.number(ctx, rows, low)
}

func (h *fakeHandle) removeCells(ctx context.Context, rows []fakeRow) error {
	if h.db.faults.removesNothing || h.db.faults.removesInAppend {
		return nil
	}
	return h.removeScopes(ctx, rows)
}

func (h *fakeHandle) removeScopes(ctx context.Context, rows []fakeRow) error {
	for _, row := range rows {
		var keys []string
		for _, s := range row.scopes {
			if s.Kind() == invalidate.KindKey {
				keys = append(keys, s.Text())
			}
		}
		if len(keys) > 0 {
			if err := h.remove(ctx, keys); err != nil {
				return err
			}
		}
	}
	return nil
}

// stage returns the rows without a number, and the oldest open transaction.
func (db *fakeDB) stage() (rows []fakeRow, low int, err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.dropped && !db.faults.syncsNowhere {
		return nil, 0, errNoTables
	}
	for _, row := range db.rows {
		if row.xid >= db.low && (!db.faults.byID || row.id > db.top) {
			rows = append(rows, row)
		}
		if row.damaged && db.faults.stopsAtDamaged {
			break
		}
	}
	if db.faults.forgetsStaged {
		db.rows = nil
	}
	return rows, db.lowLocked(), nil
}

func (db *fakeDB) lowLocked() int {
	low := db.xids + 1
	if !db.faults.lowIsNewest {
		for xid := range db.open {
			low = min(low, xid)
		}
	}
	return low
}

// number makes records of the rows that other processes have not numbered.
func (db *fakeDB) number(ctx context.Context, rows []fakeRow, low int) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	a, damaged := invalidate.Append{}, false
	for _, row := range rows {
		i := slices.IndexFunc(db.rows, func(r fakeRow) bool { return r.id == row.id })
		if i < 0 && !db.faults.forgetsStaged {
			continue
		}
		damaged = damaged || row.damaged
		db.top = max(db.top, row.id)
		for _, s := range row.scopes {
			f := invalidate.Fence{Scope: s}
			if f.OfKeys() {
				a.Keys = append(a.Keys, f)
			} else {
				a.Scopes = append(a.Scopes, f)
			}
		}
	}
	db.forgetLocked(rows)
	switch {
	case db.faults.lowAfterStage:
		db.low = db.lowLocked()
	case !damaged || !db.faults.keepsDamaged:
		db.low = low
	}
	if damaged && !db.faults.skipsDamaged {
		if err := db.appendRecords(ctx, invalidate.Append{Scopes: []invalidate.Fence{damage}}); err != nil {
			return err
		}
	}
	return db.appendRecords(ctx, a)
}

// forgetLocked deletes rows.
func (db *fakeDB) forgetLocked(rows []fakeRow) {
	switch {
	case db.faults.clearsOutbox:
		db.rows = nil
	case db.faults.deletesByCount:
		db.rows = db.rows[min(len(rows), len(db.rows)):]
	default:
		db.rows = slices.DeleteFunc(db.rows, func(row fakeRow) bool {
			numbered := slices.ContainsFunc(rows, func(r fakeRow) bool { return r.id == row.id })
			return numbered && (!row.damaged || !db.faults.keepsDamaged)
		})
	}
}

// appendRecords appends as many records as needed.
func (db *fakeDB) appendRecords(ctx context.Context, a invalidate.Append) error {
	for len(a.Keys)+len(a.Scopes) > 0 {
		k, s := min(len(a.Keys), invalidate.MaxFences), min(len(a.Scopes), invalidate.MaxFences)
		if _, err := db.log.Sync(ctx, invalidate.Cursor{}, invalidate.Append{Keys: a.Keys[:k], Scopes: a.Scopes[:s]}); err != nil {
			return err
		}
		if a.Keys, a.Scopes = a.Keys[k:], a.Scopes[s:]; db.faults.cutsMany {
			return nil
		}
	}
	return nil
}
