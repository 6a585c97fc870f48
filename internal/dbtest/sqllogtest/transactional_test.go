package sqllogtest_test

import (
	"context"
	"database/sql"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

func TestTransactional(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		kit := logtest.Transactional{
			Open: r.freshTables, Begin: r.begin, OneWriter: r.dialect == sqllog.SQLite,
			Savepoint: savepoint, Damage: damage, Drop: drop,
		}
		if r.dialect == sqllog.Postgres {
			kit.Prepare = prepare
		}
		logtest.TestTransactional(t, kit)
	})
}

// txLog is a handle with its tables, and txOn is one of its transactions.
type txLog struct {
	*sqllog.Log

	r      *rig
	tables sqllog.Tables
}

type txOn struct {
	*sql.Tx

	log *txLog
	id  string // of the prepared transaction
}

var tables atomic.Int64

// freshTables makes tables for one log. A subtest may drop them.
func (r *rig) freshTables(t *testing.T) func() invalidate.Log {
	t.Helper()
	n := strconv.FormatInt(tables.Add(1), 10)
	names := sqllog.Tables{Outbox: "outbox" + n, Log: "log" + n, Meta: "meta" + n}
	open := func() *sqllog.Log {
		return r.open(sqllog.Config{Tables: names, Logger: slog.New(slog.DiscardHandler)})
	}
	if err := open().Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return func() invalidate.Log { return &txLog{open(), r, names} }
}

func (r *rig) begin(ctx context.Context, log invalidate.Log) (logtest.Tx, error) {
	tx, err := r.db.BeginTx(ctx, nil)
	return &txOn{Tx: tx, log: log.(*txLog)}, err
}

func (x *txOn) Append(ctx context.Context, scopes ...invalidate.Scope) error {
	return x.log.Append(ctx, x.Tx, scopes...)
}

func (x *txOn) Commit() error {
	if x.id == "" {
		return x.Tx.Commit()
	}
	_, err := x.log.r.db.Exec("COMMIT PREPARED '" + x.id + "'")
	return err
}

func (x *txOn) Rollback() error {
	if x.id == "" {
		return x.Tx.Rollback()
	}
	_, err := x.log.r.db.Exec("ROLLBACK PREPARED '" + x.id + "'")
	return err
}

func savepoint(ctx context.Context, tx logtest.Tx) (func() error, error) {
	x := tx.(*txOn)
	_, err := x.ExecContext(ctx, "SAVEPOINT here")
	return func() error {
		_, err := x.ExecContext(ctx, "ROLLBACK TO SAVEPOINT here")
		return err
	}, err
}

// prepare detaches the transaction from its connection.
func prepare(ctx context.Context, tx logtest.Tx) error {
	x := tx.(*txOn)
	x.id = "prepared" + strconv.FormatInt(tables.Add(1), 10)
	if _, err := x.ExecContext(ctx, "PREPARE TRANSACTION '"+x.id+"'"); err != nil {
		return err
	}
	_ = x.Tx.Rollback() // the connection goes back to the pool
	return nil
}

func damage(ctx context.Context, tx logtest.Tx) error {
	x := tx.(*txOn)
	_, err := x.ExecContext(ctx, "INSERT INTO "+x.log.tables.Outbox+" (ns, scopes) VALUES ('default', '{}')")
	return err
}

func drop(ctx context.Context, log invalidate.Log) error {
	l := log.(*txLog)
	for _, name := range []string{l.tables.Outbox, l.tables.Log, l.tables.Meta} {
		if _, err := l.r.db.ExecContext(ctx, "DROP TABLE "+name); err != nil {
			return err
		}
	}
	return nil
}
