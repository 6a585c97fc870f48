package sqlpgx

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// Tx makes a transaction of pgx fit Append of a log:
//
//	err := log.Append(ctx, sqlpgx.Tx(tx), users.Key(42))
//
// A nil transaction is refused by Append.
func Tx(tx pgx.Tx) sqllog.Execer {
	if tx == nil {
		return nil
	}
	return sqllog.ExecFunc(func(ctx context.Context, query string, args ...any) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}
