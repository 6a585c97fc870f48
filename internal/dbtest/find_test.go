package dbtest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/dbtest"
)

// ending is a testing.TB that records how the test ended.
type ending struct {
	testing.TB
	how string
}

func (e *ending) Helper()           {}
func (e *ending) Skip(args ...any)  { e.end("skip", args) }
func (e *ending) Fatal(args ...any) { e.end("fail", args) }

func (e *ending) end(how string, args []any) {
	if err, ok := args[0].(error); ok && errors.Is(err, dbtest.ErrNotInstalled) {
		e.how = how
	} else {
		e.how = fmt.Sprint(args...)
	}
	panic(e)
}

func TestMissingServer(t *testing.T) {
	postgres := func(t testing.TB) { dbtest.Postgres(t) }
	mariadb := func(t testing.TB) { dbtest.MariaDB(t) }
	for _, tc := range []struct {
		name        string
		start       func(t testing.TB)
		ci, mariadb string
		want        string
	}{
		{"PostgreSQL", postgres, "", "", "skip"},
		{"PostgreSQL in CI", postgres, "true", "", "fail"},
		{"MariaDB", mariadb, "", "", "skip"},
		{"MariaDB in CI", mariadb, "true", "", "skip"},
		{"MariaDB wanted", mariadb, "", "1", "fail"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(dbtest.PostgresEnv, t.TempDir())
			t.Setenv(dbtest.MariaDBServerEnv, t.TempDir())
			t.Setenv("CI", tc.ci)
			t.Setenv(dbtest.MariaDBEnv, tc.mariadb)
			e := &ending{TB: t}
			func() {
				defer func() { _ = recover() }()
				tc.start(e)
			}()
			if e.how != tc.want {
				t.Errorf("without a server: %q, want %q", e.how, tc.want)
			}
		})
	}
}
