package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"

	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // registers the driver "sqlite"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// openSQLite opens a file. One connection writes: writes wait for it, and do not fail
// with SQLITE_BUSY.
func openSQLite(ctx context.Context, path string) (*Store, error) {
	writer, err := sql.Open("sqlite", dsn(path, "_pragma=synchronous(NORMAL)&_txlock=immediate"))
	if err != nil {
		return nil, err
	}
	writer.SetMaxOpenConns(1)
	if err := migrate(ctx, writer, goose.DialectSQLite3, "sqlite"); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), writer.Close())
	}
	readers, err := sql.Open("sqlite", dsn(path, "_pragma=query_only(1)"))
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	return &Store{readers: readers, writer: writer, logs: sqllog.Config{Dialect: sqllog.SQLite, Readers: readers}}, nil
}

// dsn returns the name of the database at path, with more pragmas than those that
// every connection needs.
func dsn(path, more string) string {
	path = (&url.URL{Path: path}).EscapedPath()
	return "file:" + path + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&" + more
}
