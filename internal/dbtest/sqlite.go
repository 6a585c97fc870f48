package dbtest

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// SQLiteFile is one SQLite database in WAL mode, opened as a program should open it. Both pools
// wait up to five seconds for a lock.
type SQLiteFile struct {
	Path string

	// Writer has one connection. Its transactions take the write lock when they begin.
	Writer *sql.DB

	// Reader has several connections, which cannot write.
	Reader *sql.DB
}

// SQLite returns a new database file that is removed with the test.
func SQLite(t testing.TB) *SQLiteFile {
	t.Helper()
	f, err := OpenSQLite(filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// OpenSQLite opens or makes the database at path. Several processes may open it.
func OpenSQLite(path string) (*SQLiteFile, error) {
	f := &SQLiteFile{Path: path}
	const both = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
	var err error
	if f.Writer, err = sql.Open("sqlite", "file:"+path+both+"&_txlock=immediate"); err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	f.Writer.SetMaxOpenConns(1)
	if f.Reader, err = sql.Open("sqlite", "file:"+path+both+"&_pragma=query_only(1)"); err != nil {
		return nil, fmt.Errorf("dbtest: %w", errors.Join(err, f.Writer.Close()))
	}
	if err := f.Writer.Ping(); err != nil { // creates the file, for readers
		return nil, fmt.Errorf("dbtest: %w", errors.Join(err, f.Close()))
	}
	return f, nil
}

// Close closes both pools.
func (f *SQLiteFile) Close() error { return errors.Join(f.Reader.Close(), f.Writer.Close()) }

// freshName returns a name that no other database of a server has.
func freshName() string { return "t" + strings.ToLower(rand.Text()[:16]) }
