package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/testserver"
)

// server is what the database servers have in common.
type server struct {
	proc   *process
	driver string                       // of package database/sql
	dsn    func(database string) string // for it
	args   func(port int) []string      // of the server's command line
}

// newServer returns a server without data, in dir or in a new temporary folder. For root, it runs as
// the user.
func newServer(name, bin, user, dir string) (server, error) {
	as, err := unprivileged(user)
	if err == nil {
		dir, err = as.newDir(dir)
	}
	return server{proc: &process{name: name, bin: bin, dir: dir, as: as}}, err
}

// until ends the server with the test. Without the server it fails the test, or skips it.
func until(t testing.TB, end func() error, err error, mustBeThere bool) {
	t.Helper()
	if err != nil {
		giveUp(t, err, mustBeThere)
	}
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// firstUp finds a port. Another program may take it before the server binds it; then firstUp tries
// another port.
func (s *server) firstUp() error {
	for range 5 {
		port, err := testserver.FreePort(0)
		if err != nil {
			return fmt.Errorf("dbtest: %w", err)
		}
		s.proc.Port, s.proc.args = port, s.args(port)
		if err = s.Start(); !errors.Is(err, errPort) {
			return err
		}
	}
	return errPort
}

// Start starts a stopped or killed server again, with the same port, data and settings. It recovers
// what was committed before a crash.
func (s *server) Start() error {
	return s.proc.up(func(ctx context.Context) error { return s.Exec(ctx, "", "SELECT 1") })
}

func (s *server) data() string { return filepath.Join(s.proc.dir, "data") }

// Open returns a pool of connections to a database. The caller closes it.
func (s *server) Open(database string) (*sql.DB, error) {
	db, err := sql.Open(s.driver, s.dsn(database))
	if err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	return db, nil
}

// Exec runs one statement in a database, over its own connection.
func (s *server) Exec(ctx context.Context, database, query string, args ...any) error {
	db, err := s.Open(database)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("dbtest: %w", err)
	}
	return nil
}

// Database makes a fresh database and returns its name and a pool of connections. The pool is
// closed with the test. The database ends with its server.
func (s *server) Database(t testing.TB) (name string, db *sql.DB) {
	t.Helper()
	name = freshName()
	if err := s.Exec(t.Context(), "", "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	db, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return name, db
}
