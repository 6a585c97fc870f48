// Triggers shows a table that invalidates itself: a client that has only SQL changes a row, and the
// next read in Go returns the new row. It needs no server: go run ./examples/triggers
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// A row stands for a key of the cache, and for the tag of its team.
var table = triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}, {Tag: "team:", Column: "team"}}}

func main() {
	dir, err := os.MkdirTemp("", "triggers")
	if err == nil {
		err = errors.Join(run(context.Background(), os.Stdout, dir+"/users.db"), os.RemoveAll(dir))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, w io.Writer, file string) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, `CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, team INTEGER);
		INSERT INTO users VALUES (42, 'Ada', 7)`); err != nil {
		return err
	}
	cfg := sqllog.Config{Dialect: sqllog.SQLite}
	records := sqllog.New(db, cfg)
	// A larger program puts the text of triggers.SQL into its migrations, and calls triggers.Check.
	if err := errors.Join(records.Install(ctx), triggers.Install(ctx, db, cfg, table)); err != nil {
		return err
	}
	tiers, err := cache.Open(cache.TiersConfig{Log: records})
	if err != nil {
		return err
	}
	defer func() { _ = tiers.Close(context.WithoutCancel(ctx)) }()
	users, err := cache.New(tiers, cache.For("users:v1", func(ctx context.Context, id int) (name string, err error) {
		_, _ = fmt.Fprintln(w, "load", id)
		return name, db.QueryRowContext(ctx, "SELECT name FROM users WHERE id = ?", id).Scan(&name)
	}))
	if err != nil {
		return err
	}
	show := func() error {
		name, err := users.Get(ctx, 42)
		_, _ = fmt.Fprintln(w, "user 42 is", name)
		return err
	}
	// The second read is from the cache. Then any program may change the row: it needs SQL only.
	if err := errors.Join(show(), show()); err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, `UPDATE users SET name = 'Grace' WHERE id = 42`)
	return errors.Join(err, tiers.Ready(ctx), show()) // Ready: this process has read the log up to now
}
