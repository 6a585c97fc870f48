package dbtest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// ErrNotInstalled says that a database's programs were not found. Its text says
// what to install.
var ErrNotInstalled = errors.New("not installed")

// errLinux is returned by faults that look at a server's child processes.
var errLinux = errors.New("dbtest: this fault needs Linux")

// PostgresEnv names a folder of PostgreSQL programs to use in place of those in
// the PATH: another version, for example.
const PostgresEnv = "TWOFOLD_POSTGRES_BIN"

// MariaDBEnv set to "1" makes a missing MariaDB a failure. MariaDBServerEnv names
// the server program to use in place of mariadbd.
const (
	MariaDBEnv       = "TWOFOLD_MARIADB"
	MariaDBServerEnv = "TWOFOLD_MARIADB_SERVER"
)

// findPostgres returns the folder of initdb, postgres and pg_basebackup. Debian
// keeps it out of the PATH, so the newest one there is the second choice.
func findPostgres() (string, error) {
	var dirs []string
	if dir := os.Getenv(PostgresEnv); dir != "" {
		dirs = []string{dir}
	} else {
		if bin, err := exec.LookPath("postgres"); err == nil {
			if bin, err = filepath.EvalSymlinks(bin); err == nil {
				dirs = append(dirs, filepath.Dir(bin))
			}
		}
		debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is well formed
		slices.Reverse(debian)
		dirs = append(dirs, debian...)
	}
	for _, dir := range dirs {
		if executable(dir, "postgres") && executable(dir, "initdb") && executable(dir, "pg_basebackup") {
			return dir, nil
		}
	}
	return "", fmt.Errorf("dbtest: PostgreSQL is %w: install it (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql), or run `make test`, which does, or name the folder of its programs in %s", ErrNotInstalled, PostgresEnv)
}

func executable(dir, name string) bool {
	_, err := exec.LookPath(filepath.Join(dir, name))
	return err == nil
}

// findMariaDB returns the paths of the server and of the program that makes its
// data folder.
func findMariaDB() (server, install string, err error) {
	name := cmp.Or(os.Getenv(MariaDBServerEnv), "mariadbd")
	if server, err = exec.LookPath(name); err != nil {
		server, err = exec.LookPath(filepath.Join("/usr/sbin", name)) // not in every PATH
	}
	if err == nil {
		install, err = exec.LookPath("mariadb-install-db")
	}
	if err != nil {
		return "", "", fmt.Errorf("dbtest: MariaDB is %w: install it (Debian, Ubuntu: apt-get install mariadb-server; elsewhere: mariadb), or run `make test-mariadb`, which does", ErrNotInstalled)
	}
	return server, install, nil
}

// giveUp fails the test, or skips it when the database is missing and need not
// be there.
func giveUp(t testing.TB, err error, mustBeThere bool) {
	t.Helper()
	if errors.Is(err, ErrNotInstalled) && !mustBeThere {
		t.Skip(err)
	}
	t.Fatal(err)
}
