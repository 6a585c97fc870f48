package dbtest

import (
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
	server

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
	until(t, func() error { return s.Close() }, err, os.Getenv(MariaDBEnv) == "1")
	return s
}

// StartMariaDB returns a running server that keeps its files in dir until [MariaDBServer.Close]
// removes the folder. An empty dir means a new temporary folder. For root, the folders above dir
// must be open to the server's user. The error wraps [ErrNotInstalled] if MariaDB is missing.
func StartMariaDB(dir string, settings ...string) (*MariaDBServer, error) {
	bin, install, err := findMariaDB()
	if err != nil {
		return nil, err
	}
	common, err := newServer("MariaDB", bin, "mysql", dir)
	if err != nil {
		return nil, err
	}
	// When a server is killed on purpose, the driver writes lines to the standard error. They would
	// hide the lines of a failed test.
	if err := mysql.SetLogger(&mysql.NopLogger{}); err != nil {
		return nil, fmt.Errorf("dbtest: %w", err)
	}
	s := &MariaDBServer{server: common, install: install, settings: settings}
	s.driver, s.dsn, s.args = "mysql", s.DSN, s.commandLine
	err = freshMariaDB.copyTo(s.proc.as, s.data(), s.fill)
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

func (s *MariaDBServer) commandLine(port int) []string {
	args := []string{
		"--no-defaults", "--datadir=" + s.data(), "--port=" + strconv.Itoa(port), "--bind-address=127.0.0.1",
		"--socket=" + filepath.Join(s.proc.dir, "socket"), "--pid-file=" + filepath.Join(s.proc.dir, "pid"), "--skip-name-resolve",
	}
	for _, set := range append(mariadbDefaults, s.settings...) {
		args = append(args, "--"+set)
	}
	return args
}

// DSN returns the data source name of a database, with times parsed and in UTC.
// An empty name means no database.
func (s *MariaDBServer) DSN(database string) string {
	return fmt.Sprintf("root@tcp(127.0.0.1:%d)/%s?parseTime=true&loc=UTC", s.proc.Port, database)
}

// Port returns the port on the loopback interface.
func (s *MariaDBServer) Port() int { return s.proc.Port }

// Kill ends the server by SIGKILL and waits until it is gone.
func (s *MariaDBServer) Kill() { s.proc.end(os.Kill) }

// Freeze pauses the server (SIGSTOP).
func (s *MariaDBServer) Freeze() error { return s.tell(pause) }

// Continue resumes a frozen server.
func (s *MariaDBServer) Continue() error { return s.tell(resume) }

func (s *MariaDBServer) tell(do func(pid int) error) error {
	if !s.proc.Running() {
		return nil
	}
	return do(s.proc.PID())
}

// Close ends the server and removes its folder.
func (s *MariaDBServer) Close() error {
	s.Kill()
	return removeDir(s.proc.dir)
}
