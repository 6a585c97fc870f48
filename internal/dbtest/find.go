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

// ErrNotInstalled means that a database's programs were not found. The text of the wrapping error
// says what to install.
var ErrNotInstalled = errors.New("not installed")

// errLinux is returned by faults that inspect a server's child processes.
var errLinux = errors.New("dbtest: this fault needs Linux")

// PostgresEnv names a folder of PostgreSQL programs to use instead of those in the PATH, such as
// another version.
const PostgresEnv = "TWOFOLD_POSTGRES_BIN"

// MariaDBEnv set to "1" makes a missing MariaDB a failure. MariaDBServerEnv names the server
// program to use instead of mariadbd.
const (
	MariaDBEnv       = "TWOFOLD_MARIADB"
	MariaDBServerEnv = "TWOFOLD_MARIADB_SERVER"
)

// findPostgres returns the folder of initdb, postgres and pg_basebackup. Debian keeps them outside
// the PATH, so the newest version there is the second choice.
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
	return "", fmt.Errorf("dbtest: PostgreSQL is %w: install it (Debian, Ubuntu: apt-get install postgresql; Fedora: dnf install postgresql-server; macOS: brew install postgresql), or run `make test`, which installs it, or name the folder of its programs in %s", ErrNotInstalled, PostgresEnv)
}

func executable(dir, name string) bool {
	_, err := exec.LookPath(filepath.Join(dir, name))
	return err == nil
}

// findMariaDB returns the paths of the server and of the program that creates its data folder.
func findMariaDB() (server, install string, err error) {
	name := cmp.Or(os.Getenv(MariaDBServerEnv), "mariadbd")
	if server, err = exec.LookPath(name); err != nil {
		server, err = exec.LookPath(filepath.Join("/usr/sbin", name)) // not in every PATH
	}
	if err == nil {
		install, err = exec.LookPath("mariadb-install-db")
	}
	if err != nil {
		return "", "", fmt.Errorf("dbtest: MariaDB is %w: install it (Debian, Ubuntu: apt-get install mariadb-server; elsewhere: mariadb), or run `make test-mariadb`, which installs it", ErrNotInstalled)
	}
	return server, install, nil
}

// giveUp fails the test, or skips it if the database is missing and optional.
func giveUp(t testing.TB, err error, mustBeThere bool) {
	t.Helper()
	if errors.Is(err, ErrNotInstalled) && !mustBeThere {
		t.Skip(err)
	}
	t.Fatal(err)
}
