package sqltier

import (
	"context"
	"database/sql"
	"slices"
)

// runner is a statement that is ready to run.
type runner interface {
	ExecContext(ctx context.Context, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, args ...any) *sql.Row
	QueryContext(ctx context.Context, args ...any) (*sql.Rows, error)
}

// plain is the text of a statement, for a driver that keeps its own prepared statements.
type plain struct {
	db   *sql.DB
	text string
}

func (p plain) ExecContext(ctx context.Context, args ...any) (sql.Result, error) {
	return p.db.ExecContext(ctx, p.text, args...)
}

func (p plain) QueryRowContext(ctx context.Context, args ...any) *sql.Row {
	return p.db.QueryRowContext(ctx, p.text, args...)
}

func (p plain) QueryContext(ctx context.Context, args ...any) (*sql.Rows, error) {
	return p.db.QueryContext(ctx, p.text, args...)
}

// runner returns a statement, of tx if that is not nil. Parsing is most of a short SQLite
// statement, so the first call prepares all statements for SQLite. It does so outside any
// transaction, because a transaction may have the pool's only connection. On PostgreSQL it leaves
// that to the driver, which knows whether a pooler forbids prepared statements.
func (t *Tier) runner(ctx context.Context, tx *sql.Tx, which int) (runner, error) {
	if t.cfg.Dialect == Postgres {
		return plain{t.poolOf(which), t.sql[which].text}, nil
	}
	all := t.prepared.Load()
	if all == nil {
		var err error
		if all, err = t.prepare(ctx); err != nil {
			return nil, err
		}
	}
	if tx != nil {
		return tx.StmtContext(ctx, all[which]), nil
	}
	return all[which], nil
}

// prepare prepares the statements of SQLite. They are closed with their connections.
func (t *Tier) prepare(ctx context.Context) (*[statementCount]*sql.Stmt, error) {
	t.preparing.Lock()
	defer t.preparing.Unlock()
	if all := t.prepared.Load(); all != nil {
		return all, nil
	}
	var all [statementCount]*sql.Stmt
	for i := range claimMany {
		st, err := t.poolOf(i).PrepareContext(ctx, t.sql[i].text) //nolint:sqlclosecheck // a failure closes those before it, and the pool the others
		if err != nil {
			for _, st := range all[:i] {
				_ = st.Close()
			}
			return nil, err
		}
		all[i] = st
	}
	t.prepared.Store(&all)
	return &all, nil
}

// poolOf returns the pool that a statement runs on.
func (t *Tier) poolOf(which int) *sql.DB {
	switch which {
	case get, getMany, measure, ping:
		return t.readers
	}
	return t.db
}

// exec runs a statement and returns how many rows it changed.
func (t *Tier) exec(ctx context.Context, tx *sql.Tx, which int, args ...any) (int64, error) {
	st, err := t.runner(ctx, tx, which)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(ctx, t.timed(which, args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// timed puts the time before the arguments of a statement that needs it.
func (t *Tier) timed(which int, args []any) []any {
	if t.sql[which].clock {
		args = slices.Insert(args, 0, any(t.cfg.Now().UnixMilli()))
	}
	return args
}
