package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver "pgx"
)

// PostgresServer is one PostgreSQL server with its own data folder. Its superuser is postgres,
// without a password. The methods must not be called concurrently, except DSN, Open and Database.
type PostgresServer struct {
	proc     *process
	bin      string // the folder of its programs
	settings []string
	copies   int
	standbys []*PostgresServer
}

// Every server starts with these settings. The caller's settings override them.
var postgresDefaults = []string{
	"fsync=off", "full_page_writes=off", // no machine crashes here, only processes
	"shared_buffers=16MB", "max_connections=100", "max_prepared_transactions=16",
	"dynamic_shared_memory_type=mmap", // in the data folder: a killed server leaves nothing elsewhere
	"listen_addresses=127.0.0.1", "log_min_messages=warning",
}

// Postgres returns a running server that ends with the test. Settings are those of postgresql.conf,
// such as "fsync=on". Without PostgreSQL the test is skipped, or fails if the variable CI is set.
func Postgres(t testing.TB, settings ...string) *PostgresServer {
	t.Helper()
	s, err := StartPostgres("", settings...)
	if err != nil {
		giveUp(t, err, os.Getenv("CI") != "")
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// StartPostgres returns a running server that keeps its files in dir until [PostgresServer.Close]
// removes the folder. An empty dir means a new temporary folder. For root, the folders above dir
// must be open to the server's user. The error wraps [ErrNotInstalled] if PostgreSQL is missing.
func StartPostgres(dir string, settings ...string) (*PostgresServer, error) {
	s, err := newPostgres(dir, settings)
	if err != nil {
		return nil, err
	}
	err = freshPostgres.copyTo(s.proc.as, s.data(), func(data string) error {
		return run(s.proc.as, filepath.Dir(data), filepath.Join(s.bin, "initdb"), "-D", data, "--username=postgres",
			"--auth=trust", "--locale=C", "--encoding=UTF8", "--wal-segsize=1", "--no-sync", "--no-instructions")
	})
	if err == nil {
		err = s.firstUp()
	}
	if err != nil {
		_ = s.Close() // the first error says more
		return nil, err
	}
	return s, nil
}

var freshPostgres template

// newPostgres returns a server without data.
func newPostgres(dir string, settings []string) (*PostgresServer, error) {
	bin, err := findPostgres()
	if err != nil {
		return nil, err
	}
	as, err := unprivileged("postgres")
	if err != nil {
		return nil, err
	}
	if dir, err = as.newDir(dir); err != nil {
		return nil, err
	}
	p := &process{name: "PostgreSQL", bin: filepath.Join(bin, "postgres"), dir: dir, as: as}
	return &PostgresServer{proc: p, bin: bin, settings: settings}, nil
}

// firstUp finds a port. Another program may take it before the server binds it; then firstUp tries
// another port.
func (s *PostgresServer) firstUp() error {
	for range 5 {
		port, err := freePort()
		if err != nil {
			return err
		}
		s.proc.port = port
		s.proc.args = []string{"-D", s.data(), "-p", strconv.Itoa(port), "-c", "unix_socket_directories=" + s.proc.dir}
		for _, set := range append(postgresDefaults, s.settings...) {
			s.proc.args = append(s.proc.args, "-c", set)
		}
		if err = s.Start(); !errors.Is(err, errPort) {
			return err
		}
	}
	return errPort
}

func (s *PostgresServer) data() string { return filepath.Join(s.proc.dir, "data") }

// DSN returns the URL of a database of the server. An empty name means the database postgres, which
// always exists.
func (s *PostgresServer) DSN(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/" + database, RawQuery: "sslmode=disable",
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.proc.port)),
	}
	if database == "" {
		u.Path = "/postgres"
	}
	return u.String()
}

// Port returns the port that the server listens on.
func (s *PostgresServer) Port() int { return s.proc.port }

// SocketDir returns the folder of the server's Unix socket.
func (s *PostgresServer) SocketDir() string { return s.proc.dir }

// Open returns a pool of connections to a database. The caller closes it.
func (s *PostgresServer) Open(database string) (*sql.DB, error) {
	db, err := sql.Open("pgx", s.DSN(database))
	if err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	return db, nil
}

// Exec runs one statement in a database, over its own connection.
func (s *PostgresServer) Exec(ctx context.Context, database, query string, args ...any) error {
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
func (s *PostgresServer) Database(t testing.TB) (name string, db *sql.DB) {
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

func (s *PostgresServer) ping(ctx context.Context) error { return s.Exec(ctx, "", "SELECT 1") }
