package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/go-sql-driver/mysql" // registers the driver "mysql"
)

// MariaDBServer is one MariaDB server with its own data folder. Its user is root, without a
// password. The methods must not be called concurrently, except DSN, Open and Database.
type MariaDBServer struct {
	proc     *process
	install  string
	settings []string
}

// Small files, because a server is copied for each test.
var mariadbDefaults = []string{
	"innodb-log-file-size=8M", "innodb-buffer-pool-size=16M", "aria-log-file-size=8M",
	"innodb-flush-log-at-trx-commit=2", "innodb-flush-method=nosync",
}

// MariaDB returns a running server that ends with the test. Settings are options of the server's
// command line without dashes, such as "innodb-flush-log-at-trx-commit=1". Without MariaDB the test
// is skipped, or fails if TWOFOLD_MARIADB is 1.
func MariaDB(t testing.TB, settings ...string) *MariaDBServer {
	t.Helper()
	s, err := StartMariaDB("", settings...)
	if err != nil {
		giveUp(t, err, os.Getenv(MariaDBEnv) == "1")
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// StartMariaDB returns a running server that keeps its files in dir until [MariaDBServer.Close]
// removes the folder. An empty dir means a new temporary folder. For root, the folders above dir
// must be open to the server's user. The error wraps [ErrNotInstalled] if MariaDB is missing.
func StartMariaDB(dir string, settings ...string) (*MariaDBServer, error) {
	server, install, err := findMariaDB()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged("mysql")
	if err != nil {
		return nil, err
	}
	if dir, err = as.newDir(dir); err != nil {
		return nil, err
	}
	// When a server is killed on purpose, the driver writes lines to the standard error. They would
	// hide the lines of a failed test.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	s := &MariaDBServer{
		proc:    &process{name: "MariaDB", bin: server, dir: dir, as: as},
		install: install, settings: settings,
	}
	err = freshMariaDB.copyTo(as, s.data(), s.fill)
	if err == nil {
		err = s.firstUp()
	}
	if err != nil {
		_ = s.Close() // the first error says more
		return nil, err
	}
	return s, nil
}

var freshMariaDB template

// fill makes a data folder. In it, root has no password and may connect from anywhere.
func (s *MariaDBServer) fill(data string) error {
	args := []string{"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db"}
	for _, set := range mariadbDefaults {
		args = append(args, "--"+set)
	}
	return run(s.proc.as, filepath.Dir(data), s.install, args...)
}

func (s *MariaDBServer) firstUp() error {
	for range 5 {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.proc.port = port
		s.proc.args = []string{
			"--no-defaults", "--datadir=" + s.data(), "--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1",
			"--socket=" + filepath.Join(s.proc.dir, "socket"), "--pid-file=" + filepath.Join(s.proc.dir, "pid"), "--skip-name-resolve",
		}
		for _, set := range append(mariadbDefaults, s.settings...) {
			s.proc.args = append(s.proc.args, "--"+set)
		}
		if err = s.Start(); !errors.Is(err, errPort) {
			return err
		}
	}
	return errPort
}

func (s *MariaDBServer) data() string { return filepath.Join(s.proc.dir, "data") }

// DSN returns the data source name of a database, with times parsed and in UTC.
// An empty name means no database.
func (s *MariaDBServer) DSN(database string) string {
	return fmt.Sprintf("root@tcp(127.0.0.1:%d)/%s?parseTime=true&loc=UTC", s.proc.port, database)
}

// Open returns a pool of connections to a database. The caller closes it.
func (s *MariaDBServer) Open(database string) (*sql.DB, error) {
	db, err := sql.Open("mysql", s.DSN(database))
	if err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	return db, nil
}

// Exec runs one statement in a database, over its own connection.
func (s *MariaDBServer) Exec(ctx context.Context, database, query string, args ...any) error {
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
func (s *MariaDBServer) Database(t testing.TB) (name string, db *sql.DB) {
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

// Start starts a killed server again: same port, data and settings.
func (s *MariaDBServer) Start() error {
	return s.proc.up(func(ctx context.Context) error { return s.Exec(ctx, "", "SELECT 1") })
}

// Kill ends the server by SIGKILL and waits until it is gone.
func (s *MariaDBServer) Kill() { s.proc.end(os.Kill) }

// Freeze pauses the server (SIGSTOP).
func (s *MariaDBServer) Freeze() error { return s.tell(pause) }

// Continue resumes a frozen server.
func (s *MariaDBServer) Continue() error { return s.tell(resume) }

func (s *MariaDBServer) tell(do func(pid int) error) error {
	if !s.proc.running() {
		return nil
	}
	return do(s.proc.cmd.Process.Pid)
}

// Close ends the server and removes its folder.
func (s *MariaDBServer) Close() error {
	s.Kill()
	return removeDir(s.proc.dir)
}
