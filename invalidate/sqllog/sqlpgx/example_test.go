package pgxlisten_test

import (
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/pgxlisten"
)

func ExampleNew() {
	server, err := pgx.ParseConfig("postgres://app@127.0.0.1:1/app")
	if err != nil {
		fmt.Println(err)
		return
	}
	db := sql.OpenDB(stdlib.GetConnector(*server))
	defer db.Close()
	listener, err := pgxlisten.New(pgxlisten.Config{Conn: server, Namespace: "app"})
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
