package dbtest

import (
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
	server

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
	until(t, func() error { return s.Close() }, err, os.Getenv("CI") != "")
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
	common, err := newServer("PostgreSQL", filepath.Join(bin, "postgres"), "postgres", dir)
	if err != nil {
		return nil, err
	}
	s := &PostgresServer{server: common, bin: bin, settings: settings}
	s.driver, s.dsn, s.args = "pgx", s.DSN, s.commandLine
	return s, nil
}

func (s *PostgresServer) commandLine(port int) []string {
	args := []string{"-D", s.data(), "-p", strconv.Itoa(port), "-c", "unix_socket_directories=" + s.proc.dir}
	for _, set := range append(postgresDefaults, s.settings...) {
		args = append(args, "-c", set)
	}
	return args
}

// DSN returns the URL of a database of the server. An empty name means the database postgres, which
// always exists.
func (s *PostgresServer) DSN(database string) string {
	u := url.URL{
		Scheme: "postgres", User: url.User("postgres"), Path: "/" + database, RawQuery: "sslmode=disable",
		Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.proc.Port)),
	}
	if database == "" {
		u.Path = "/postgres"
	}
	return u.String()
}

// Port returns the port that the server listens on.
func (s *PostgresServer) Port() int { return s.proc.Port }

// SocketDir returns the folder of the server's Unix socket.
func (s *PostgresServer) SocketDir() string { return s.proc.dir }
