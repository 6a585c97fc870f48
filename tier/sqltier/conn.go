package sqltier

import (
	"context"
	"database/sql"
	"slices"
)

// prepared is a *sql.Stmt, which its user does not close.
type prepared interface {
	ExecContext(ctx context.Context, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, args ...any) *sql.Row
	QueryContext(ctx context.Context, args ...any) (*sql.Rows, error)
}

// statement returns a prepared statement of SQLite, of tx if that is not nil. Parsing is most of a
// short statement there, so the first call prepares all of them. It does so outside any transaction,
// because a transaction may have the pool's only connection. PostgreSQL gets texts: its driver
// prepares them, and knows whether a pooler forbids that.
func (t *Tier) statement(ctx context.Context, tx *sql.Tx, which int) (prepared, error) {
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
	run := func(args ...any) (sql.Result, error) { return t.db.ExecContext(ctx, t.sql[which].text, args...) }
	if t.cfg.Dialect != Postgres {
		st, err := t.statement(ctx, tx, which)
		if err != nil {
			return 0, err
		}
		run = func(args ...any) (sql.Result, error) { return st.ExecContext(ctx, args...) }
	}
	res, err := run(t.timed(which, args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// query runs a statement that returns rows.
func (t *Tier) query(ctx context.Context, tx *sql.Tx, which int, args ...any) (*sql.Rows, error) {
	if t.cfg.Dialect == Postgres {
		return t.poolOf(which).QueryContext(ctx, t.sql[which].text, args...)
	}
	st, err := t.statement(ctx, tx, which)
	if err != nil {
		return nil, err
	}
	return st.QueryContext(ctx, t.timed(which, args)...)
}

// one runs a statement that returns one row, and scans it into to.
func (t *Tier) one(ctx context.Context, tx *sql.Tx, which int, args []any, to ...any) error {
	if t.cfg.Dialect == Postgres {
		return t.poolOf(which).QueryRowContext(ctx, t.sql[which].text, args...).Scan(to...)
	}
	st, err := t.statement(ctx, tx, which)
	if err != nil {
		return err
	}
	return st.QueryRowContext(ctx, t.timed(which, args)...).Scan(to...)
}

// timed puts the time before the arguments of a statement that needs it.
func (t *Tier) timed(which int, args []any) []any {
	if t.sql[which].clock {
		args = slices.Insert(args, 0, any(t.cfg.Now().UnixMilli()))
	}
	return args
}
