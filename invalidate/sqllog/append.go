package sqllog

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
)

// Execer is a transaction: *sql.Tx, *sql.Conn in a transaction, or the type that wraps them in
// sqlx, sqlc, ent or gorm. A package that rewrites placeholders, as bun does, contains a
// *sql.Tx: pass that. For pgx there is Tx of package sqlpgx. [ExecFunc] adapts others.
type Execer interface {
	// ExecContext runs a statement in the transaction.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// ExecFunc adapts a function to [Execer], for transactions that are not of database/sql. The function
// runs the statement in the transaction, or queues it in a batch that is sent in the transaction:
//
//	sqllog.ExecFunc(func(_ context.Context, query string, args ...any) error {
//		batch.Queue(query, args...) // a pgx.Batch
//		return nil
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
	if err := l.Validate(); err != nil {
		return err
	}
	query, args, err := l.insert(scopes)
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

// insert returns the INSERT that names the scopes. Without scopes the query is empty.
func (l *Log) insert(scopes []invalidate.Scope) (query string, args []any, err error) {
	texts, err := outbox.Texts(scopes)
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
	q := sqltext.Rebind(l.cfg.Dialect.String(), b.String())
	return q.Text, q.Args(l.cfg.Namespace, args), nil
}
