package store

import (
	"context"
	"database/sql"
	"errors"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
	"github.com/pressly/goose/v3"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// openPostgres opens a database by its URL, which no error may tell: it has a
// password. One pool reads and writes.
func openPostgres(ctx context.Context, url string) (*Store, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	if err = db.PingContext(ctx); err == nil {
		err = migrate(ctx, db, goose.DialectPostgres, "postgres")
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &Store{
		readers: db, writer: db, logs: sqllog.Config{Dialect: sqllog.Postgres},
		snapshot: &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
	}, nil
}
