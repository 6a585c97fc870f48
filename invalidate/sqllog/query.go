package sqllog

import (
	"context"
	"database/sql"

	"github.com/twofold-go/twofold/internal/sqltext"
)

// queryer is a pool, a connection, or a transaction on one.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs a statement. Its first argument is the namespace, and args are the others.
func (l *Log) exec(ctx context.Context, on queryer, q *sqltext.Query, args ...any) (sql.Result, error) {
	return on.ExecContext(ctx, q.Text, q.Args(l.cfg.Namespace, args)...)
}

// row runs a query for one row, with the same arguments as exec.
func (l *Log) row(ctx context.Context, on queryer, q *sqltext.Query, args ...any) *sql.Row {
	return on.QueryRowContext(ctx, l.text(q), q.Args(l.cfg.Namespace, args)...)
}

// list runs a query, with the same arguments as exec.
func (l *Log) list(ctx context.Context, on queryer, q *sqltext.Query, args ...any) (*sql.Rows, error) {
	return on.QueryContext(ctx, l.text(q), q.Args(l.cfg.Namespace, args)...)
}
