package sqllogtest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// Only a transaction that commits invalidates.
func TestCommitInvalidates(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		tx := begin(t, r.db)
		if err := p.log.Append(t.Context(), tx, org(1), key42(t)); err != nil {
			t.Fatal(err)
		}
		if r.dialect != sqllog.SQLite { // its only writer is the open transaction
			p.want()
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		p.want(org(1), key42(t))
		p.want()

		tx = begin(t, r.db)
		if err := p.log.Append(t.Context(), tx, org(2)); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		p.want()
		if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 0 {
			t.Errorf("%d rows are left in the outbox, want none", n)
		}
		if s := p.log.Stats(); s.Numbered != 1 || s.Damaged != 0 || s.Oldest != 0 {
			t.Errorf("Stats = %+v, want one row numbered", s)
		}
	})
}

func begin(t *testing.T, db *sql.DB) *sql.Tx {
	t.Helper()
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// Every kind of scope arrives unchanged, in any number.
func TestScopesArrive(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		odd := invalidate.Tag("acme", "\u2028 <a&b>\x00\"'\\ é 🚀")
		scopes := []invalidate.Scope{
			key42(t), org(1), odd, invalidate.Prefix("acme", "users:v1:"), invalidate.Tenant("acme"), invalidate.All(),
		}
		commit(t, r, p.log, scopes...)
		p.want(scopes...)

		many := make([]invalidate.Scope, 2*invalidate.MaxFences+7)
		for i := range many {
			many[i] = org(i)
		}
		commit(t, r, p.log, many...)
		p.want(many...)
	})
}

// commit commits an invalidation without data.
func commit(t *testing.T, r *rig, l *sqllog.Log, scopes ...invalidate.Scope) {
	t.Helper()
	err := l.Tx(t.Context(), r.db, nil, func(tx *sqllog.Tx) error { tx.Invalidate(scopes...); return nil })
	if err != nil {
		t.Fatal(err)
	}
}

// Tx ends the transaction, however its function ends.
func TestTx(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.exec(t, "CREATE TABLE data (id INTEGER PRIMARY KEY)")
		p := r.process(t, sqllog.Config{})
		write := func(tx *sqllog.Tx, id int) {
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO data VALUES ("+string(rune('0'+id))+")"); err != nil {
				t.Error(err)
			}
			tx.Invalidate(org(id))
		}
		boom := errors.New("boom")
		for i, tc := range []struct {
			name string
			do   func(tx *sqllog.Tx) error
			want error
		}{
			{"commits", func(*sqllog.Tx) error { return nil }, nil},
			{"fails", func(*sqllog.Tx) error { return boom }, boom},
			{"has a bad scope", func(tx *sqllog.Tx) error { tx.Invalidate(invalidate.Scope{}); return nil }, sqllog.ErrScope},
			{"commits itself", func(tx *sqllog.Tx) error { return tx.Commit() }, sqllog.ErrCommit},
			{"rolls back itself", func(tx *sqllog.Tx) error { return tx.Rollback() }, sqllog.ErrCommit},
			{"rolls back inside", func(tx *sqllog.Tx) error { return tx.Tx.Rollback() }, sql.ErrTxDone},
		} {
			err := p.log.Tx(t.Context(), r.db, nil, func(tx *sqllog.Tx) error { write(tx, i); return tc.do(tx) })
			if !errors.Is(err, tc.want) {
				t.Errorf("a transaction that %s = %v, want %v", tc.name, err, tc.want)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a panic did not pass through Tx")
				}
			}()
			_ = p.log.Tx(t.Context(), r.db, nil, func(tx *sqllog.Tx) error { write(tx, 9); panic(boom) })
		}()
		p.want(org(0))
		if n := r.count(t, "SELECT count(*) FROM data"); n != 1 {
			t.Errorf("%d rows of data, want only the committed one", n)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := p.log.Tx(ctx, r.db, nil, func(*sqllog.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("Tx of a context that has ended = %v", err)
		}
	})
}

// A function that is used as a transaction writes the same row.
func TestExecFunc(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		err := p.log.Append(t.Context(), sqllog.ExecFunc(func(ctx context.Context, query string, args ...any) error {
			_, err := r.db.ExecContext(ctx, query, args...)
			return err
		}), org(2))
		if err != nil {
			t.Fatal(err)
		}
		p.want(org(2))
	})
}

// A savepoint that is rolled back takes its rows with it.
func TestSavepoint(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		err := p.log.Tx(t.Context(), r.db, nil, func(tx *sqllog.Tx) error {
			return errors.Join(
				p.log.Append(t.Context(), tx, org(1)),
				execIn(t, tx, "SAVEPOINT s"),
				p.log.Append(t.Context(), tx, org(2)),
				execIn(t, tx, "ROLLBACK TO SAVEPOINT s"),
				p.log.Append(t.Context(), tx, org(3)),
			)
		})
		if err != nil {
			t.Fatal(err)
		}
		p.want(org(1), org(3))
	})
}

func execIn(t *testing.T, tx *sqllog.Tx, query string) error {
	t.Helper()
	_, err := tx.ExecContext(t.Context(), query)
	return err
}

// Overlapping transactions are numbered as they commit, and none waits for another. No row below
// the low-water mark may be missed.
func TestOverlap(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	p := r.process(t, sqllog.Config{})
	old, reader := begin(t, r.db), begin(t, r.db)
	for _, tx := range []*sql.Tx{old, reader} { // each gets its transaction id
		if _, err := tx.ExecContext(t.Context(), "SELECT pg_current_xact_id()"); err != nil {
			t.Fatal(err)
		}
	}
	first, second := begin(t, r.db), begin(t, r.db)
	for tx, s := range map[*sql.Tx]invalidate.Scope{first: org(1), second: org(2)} {
		if err := p.log.Append(t.Context(), tx, s); err != nil {
			t.Fatal(err)
		}
	}
	if err := second.Commit(); err != nil {
		t.Fatal(err)
	}
	p.want(org(2))
	if err := first.Commit(); err != nil {
		t.Fatal(err)
	}
	p.want(org(1))
	if err := p.log.Append(t.Context(), old, org(3)); err != nil {
		t.Fatal(err)
	}
	commit(t, r, p.log, org(4))
	p.want(org(4))
	if err := old.Commit(); err != nil {
		t.Fatal(err)
	}
	p.want(org(3))
}

// A prepared transaction is invisible until its second phase, and delays nothing.
func TestPrepared(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	p := r.process(t, sqllog.Config{})
	tx := begin(t, r.db)
	if err := p.log.Append(t.Context(), tx, org(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "PREPARE TRANSACTION 'two'"); err != nil {
		t.Fatal(err)
	}
	_ = tx.Rollback() // the session has no transaction any more
	p.want()
	commit(t, r, p.log, org(2))
	p.want(org(2))
	r.exec(t, "COMMIT PREPARED 'two'")
	p.want(org(1))
}

// A full stage has read only a part of the rows. The low-water mark must not pass open transactions
// or rows for the next stage.
func TestFullStageBesideAnOldTransaction(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	p := r.process(t, sqllog.Config{})
	old := begin(t, r.db)
	if err := p.log.Append(t.Context(), old, org(1)); err != nil {
		t.Fatal(err)
	}
	for _, rows := range []int{1000, 1500} {
		r.exec(t, `INSERT INTO twofold_outbox (scopes) SELECT '[["t","default","org:2"]]' FROM generate_series(1, $1)`, rows)
		p.sync()
		if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 0 {
			t.Errorf("%d of %d rows are left", n, rows)
		}
	}
	if err := old.Commit(); err != nil {
		t.Fatal(err)
	}
	p.want(org(1))
}
