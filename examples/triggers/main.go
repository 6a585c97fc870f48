// Triggers shows a table that invalidates itself. A client that does not know the cache changes a
// row by SQL, and the next read in Go returns the new row. To be the client yourself, give it a
// file and a minute, and use the sqlite3 shell:
//
//	go run ./examples/triggers
//	go run ./examples/triggers -file users.db -wait 1m &
//	sqlite3 users.db "UPDATE users SET name = 'Grace' WHERE id = 42"
package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// A row stands for a key of the cache, and for the tag of its team.
var table = sqllog.Table{Name: "users", Rows: []sqllog.Row{{Key: "users:v1", Column: "id"}, {Tag: "team:", Column: "team"}}}

func main() {
	file := flag.String("file", filepath.Join(os.TempDir(), fmt.Sprintf("triggers-%d.db", os.Getpid())), "the database")
	wait := flag.Duration("wait", 0, "how long to wait for your change; 0: the program makes one")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *file, *wait); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, w io.Writer, file string, wait time.Duration) error {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS users (id INTEGER PRIMARY KEY, name TEXT, team INTEGER);
		INSERT OR REPLACE INTO users VALUES (42, 'Ada', 7)`); err != nil {
		return err
	}
	log := sqllog.New(db, sqllog.Config{Dialect: sqllog.SQLite})
	// A larger program puts the text of sqllog.Triggers into its migrations, and calls CheckTriggers.
	if err := errors.Join(log.Install(ctx), log.InstallTriggers(ctx, db, table)); err != nil {
		return err
	}
	tiers, err := cache.Open(cache.TiersConfig{Log: log})
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
	if err := errors.Join(show(), show()); err != nil { // the second read is from the cache
		return err
	}
	if wait == 0 {
		err = outside(ctx, file)
	}
	time.Sleep(wait)
	return errors.Join(err, tiers.Ready(ctx), show()) // Ready: this process has read the log up to now
}

// outside stands for another program, which has only SQL.
func outside(ctx context.Context, file string) error {
	client, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		return err
	}
	_, err = client.ExecContext(ctx, `UPDATE users SET name = 'Grace' WHERE id = 42`)
	return errors.Join(err, client.Close())
}
