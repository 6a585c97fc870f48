package sqllog

import (
	"context"
	"database/sql"
	"regexp"
	"strconv"
)

// query is a statement in the spelling of its dialect.
type query struct {
	text  string
	order []int // MariaDB: which argument each placeholder stands for, from 0
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// rebind rewrites the placeholders $1, $2, … for the dialect.
func rebind(d Dialect, text string) query {
	q := query{text: text}
	switch d {
	case Postgres:
	case SQLite:
		q.text = placeholder.ReplaceAllStringFunc(text, func(p string) string { return "?" + p[1:] })
	case MariaDB:
		q.text = placeholder.ReplaceAllStringFunc(text, func(p string) string {
			n, _ := strconv.Atoi(p[1:])
			q.order = append(q.order, n-1)
			return "?"
		})
	}
	return q
}

// args orders the arguments as the statement needs them. The first one is the namespace.
func (q *query) args(ns string, rest []any) []any {
	in := append([]any{ns}, rest...)
	if q.order == nil {
		return in
	}
	out := make([]any, len(q.order))
	for i, from := range q.order {
		out[i] = in[from]
	}
	return out
}

// queryer is a pool, a connection, or a transaction on one.
type queryer interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// exec runs a statement. Its first argument is the namespace, and args are the others.
func (l *Log) exec(ctx context.Context, on queryer, q *query, args ...any) (sql.Result, error) {
	return on.ExecContext(ctx, q.text, q.args(l.cfg.Namespace, args)...)
}

// row runs a query for one row, with the same arguments as exec.
func (l *Log) row(ctx context.Context, on queryer, q *query, args ...any) *sql.Row {
	return on.QueryRowContext(ctx, l.text(q), q.args(l.cfg.Namespace, args)...)
}

// list runs a query, with the same arguments as exec.
func (l *Log) list(ctx context.Context, on queryer, q *query, args ...any) (*sql.Rows, error) {
	return on.QueryContext(ctx, l.text(q), q.args(l.cfg.Namespace, args)...)
}
