// Package prepared runs the statements of a program prepared. Parsing is what most of
// the time of a short SQLite statement goes into.
//
// A statement is prepared when its text is seen for the second time, and stays so until
// the pool is closed: texts should be constants, not put together from values.
package prepared

import (
	"context"
	"database/sql"
	"errors"
	"sync"
)

// maxStatements bounds what a pool keeps, for texts that are not constants after all.
const maxStatements = 500

// Pool is a [sql.DB] that keeps its statements. All methods may be called concurrently.
type Pool struct {
	db *sql.DB

	mu    sync.Mutex // protects stmts
	stmts map[string]*sql.Stmt
}

// New returns a pool on db, which stays the caller's to close, after the pool.
func New(db *sql.DB) *Pool { return &Pool{db: db, stmts: map[string]*sql.Stmt{}} }

// DB returns what the pool was made of.
func (p *Pool) DB() *sql.DB { return p.db }

// Close closes the statements.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, st := range p.stmts {
		if st != nil {
			errs = append(errs, st.Close())
		}
	}
	clear(p.stmts)
	return errors.Join(errs...)
}

// known returns the statement of a text, if it is prepared.
func (p *Pool) known(query string) *sql.Stmt {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stmts[query]
}

// meet returns the statement of a text; nil: it is not worth preparing yet, or does not
// prepare, which running it says better.
func (p *Pool) meet(ctx context.Context, query string) *sql.Stmt {
	p.mu.Lock()
	st, seen := p.stmts[query]
	if st != nil || !seen {
		if !seen && len(p.stmts) < maxStatements {
			p.stmts[query] = nil
		}
		p.mu.Unlock()
		return st
	}
	p.mu.Unlock()
	st, err := p.db.PrepareContext(ctx, query) // may wait for a connection: not under the lock
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if first := p.stmts[query]; first != nil { // somebody was quicker
		_ = st.Close() //nolint:sqlclosecheck // the one of two that nobody has used
		return first
	}
	p.stmts[query] = st
	return st
}

// statement is one that is ready to run: a [sql.Stmt], or a text that is none yet.
type statement interface {
	ExecContext(ctx context.Context, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, args ...any) *sql.Row
}

// plain is a text with what it runs on.
type plain struct {
	on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
	query string
}

func (p plain) ExecContext(ctx context.Context, args ...any) (sql.Result, error) {
	return p.on.ExecContext(ctx, p.query, args...)
}

func (p plain) QueryContext(ctx context.Context, args ...any) (*sql.Rows, error) {
	return p.on.QueryContext(ctx, p.query, args...)
}

func (p plain) QueryRowContext(ctx context.Context, args ...any) *sql.Row {
	return p.on.QueryRowContext(ctx, p.query, args...)
}

func (p *Pool) statement(ctx context.Context, query string) statement {
	if st := p.meet(ctx, query); st != nil {
		return st
	}
	return plain{p.db, query}
}

// ExecContext is [sql.DB.ExecContext].
func (p *Pool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.statement(ctx, query).ExecContext(ctx, args...)
}

// QueryContext is [sql.DB.QueryContext].
func (p *Pool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.statement(ctx, query).QueryContext(ctx, args...)
}

// QueryRowContext is [sql.DB.QueryRowContext].
func (p *Pool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.statement(ctx, query).QueryRowContext(ctx, args...)
}

// Do runs fn in a transaction, which is committed if fn returns nil.
func (p *Pool) Do(ctx context.Context, fn func(tx *Tx) error) error {
	begun, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	tx := &Tx{tx: begun, pool: p}
	err = fn(tx)
	if err == nil {
		err = begun.Commit()
	}
	if err != nil {
		_ = begun.Rollback() // after a failed commit there may be nothing left of it
		return err
	}
	// Not before: of a pool of one connection the transaction has had it.
	for _, query := range tx.met {
		p.meet(ctx, query)
	}
	return nil
}

// Tx is a transaction of a pool. It ends with the function that it was given to.
type Tx struct {
	tx   *sql.Tx
	pool *Pool
	met  []string // ran unprepared
}

func (t *Tx) statement(ctx context.Context, query string) statement {
	if st := t.pool.known(query); st != nil {
		return t.tx.StmtContext(ctx, st)
	}
	t.met = append(t.met, query)
	return plain{t.tx, query}
}

// ExecContext is [sql.Tx.ExecContext].
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.statement(ctx, query).ExecContext(ctx, args...)
}

// QueryContext is [sql.Tx.QueryContext].
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.statement(ctx, query).QueryContext(ctx, args...)
}

// QueryRowContext is [sql.Tx.QueryRowContext].
func (t *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return t.statement(ctx, query).QueryRowContext(ctx, args...)
}
