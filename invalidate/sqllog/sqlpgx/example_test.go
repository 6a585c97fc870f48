package sqlpgx_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/sqlpgx"
)

// A rename in a transaction of pgx. Its row and its invalidation commit together.
func ExampleTx() { //nolint:testableexamples // it needs a database
	var pool *pgxpool.Pool // the pool of the program
	log := sqllog.New(stdlib.OpenDBFromPool(pool), sqllog.Config{Dialect: sqllog.Postgres})

	_ = func(ctx context.Context, id int64, name string, user invalidate.Scope) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "UPDATE users SET name = $1 WHERE id = $2", name, id); err != nil {
				return err
			}
			return log.Append(ctx, sqlpgx.Tx(tx), user)
		})
	}
}

func ExampleNewListener() {
	server, err := pgx.ParseConfig("postgres://app@127.0.0.1:1/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(stdlib.GetConnector(*server))
	defer db.Close()
	listener, err := sqlpgx.NewListener(sqlpgx.ListenerConfig{Conn: server, Namespace: "app"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer listener.Close() // after the caches that follow the log
	log := sqllog.New(db, sqllog.Config{
		Dialect:   sqllog.Postgres,
		Namespace: "app",
		Wait:      listener.Wait,
	})
	fmt.Println(log.Validate(), listener.Err() != nil)
	// Output: <nil> true
}
