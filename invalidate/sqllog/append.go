package sqllog

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/invalidate"
)

// Execer is a transaction: *sql.Tx, *sql.Conn in a transaction, or the type that wraps them in
// sqlx, sqlc, ent or gorm. A package that rewrites placeholders, as bun does, contains a
// *sql.Tx: pass that. [ExecFunc] adapts others.
type Execer interface {
	// ExecContext runs a statement in the transaction.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ExecFunc adapts a function to [Execer], for transactions that are not of database/sql:
//
//	sqllog.ExecFunc(func(ctx context.Context, query string, args ...any) error {
//		_, err := pgxTx.Exec(ctx, query, args...)
//		return err
//	})
type ExecFunc func(ctx context.Context, query string, args ...any) error

// ExecContext calls f. It returns a nil Result.
func (f ExecFunc) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return nil, f(ctx, query, args...)
}

// Append writes one row that names the scopes, or one for each 1,000 of them, in the caller's
// transaction. When the transaction commits, the row becomes visible together with the data, and
// every process of the fleet invalidates the scopes within [Log.Bound]. When it rolls back, nothing
// is invalidated. Append only inserts, so it waits for no other transaction. Without scopes it does
// nothing.
//
// To wait until no process can serve the old data, call Settle of cache.Tiers after COMMIT. It takes
// one bound.
//
// The errors of Append wrap [ErrNotTx], [ErrScope], [ErrConfig], [ErrSchema],
// [ErrRights] or an error of the database. After an error the caller should roll back, because
// data must not commit without its invalidation.
func (l *Log) Append(ctx context.Context, tx Execer, scopes ...invalidate.Scope) error {
	if err := isTx(tx); err != nil {
		return err
	}
	query, args, err := l.Statement(scopes...)
	if err != nil || query == "" {
		return err
	}
	_, err = tx.ExecContext(ctx, query, args...)
	return fail("append", err)
}

// isTx refuses pools, and types that embed one. Only pools have these statistics.
func isTx(tx Execer) error {
	if tx == nil {
		return fmt.Errorf("%w (is nil)", ErrNotTx)
	}
	if _, pool := tx.(interface{ Stats() sql.DBStats }); pool {
		return fmt.Errorf("%w (is a %T)", ErrNotTx, tx)
	}
	return nil
}

// rowScopes is the most scopes that one row names.
const rowScopes = 1000

// Statement returns the INSERT that [Log.Append] runs, for a pgx.Batch and the like. Run it in
// the transaction that writes the data. Without scopes the query is empty.
func (l *Log) Statement(scopes ...invalidate.Scope) (query string, args []any, err error) {
	if err := l.Validate(); err != nil {
		return "", nil, err
	}
	texts, err := rowTexts(scopes)
	if err != nil || len(texts) == 0 {
		return "", nil, err
	}
	var b strings.Builder
	b.WriteString("INSERT INTO " + l.sql.outbox + " (ns, scopes) VALUES ")
	for i, text := range texts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("($1, $" + strconv.Itoa(i+2) + ")")
		args = append(args, text)
	}
	q := rebind(l.cfg.Dialect, b.String())
	return q.text, q.args(l.cfg.Namespace, args), nil
}
