package dbtest_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/dbtest"
)

// judge is a testing.TB that records how the test ended.
type judge struct {
	testing.TB
	verdict string
}

func (j *judge) Helper()           {}
func (j *judge) Skip(args ...any)  { j.end("skip", args) }
func (j *judge) Fatal(args ...any) { j.end("fail", args) }

func (j *judge) end(verdict string, args []any) {
	if err, ok := args[0].(error); ok && errors.Is(err, dbtest.ErrNotInstalled) {
		j.verdict = verdict
	} else {
		j.verdict = fmt.Sprint(args...)
	}
	panic(j)
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
			j := &judge{TB: t}
			func() {
				defer func() { _ = recover() }()
				tc.start(j)
			}()
			if j.verdict != tc.want {
				t.Errorf("without a server: %q, want %q", j.verdict, tc.want)
			}
		})
	}
}
