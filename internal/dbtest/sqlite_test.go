package dbtest_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/dbtest"
)

func TestSQLite(t *testing.T) {
	f := dbtest.SQLite(t)
	execute(t, f.Writer, "CREATE TABLE n (v int)")
	execute(t, f.Writer, "INSERT INTO n VALUES (1)")
	tx, err := f.Writer.BeginTx(t.Context(), nil)
	check(t, err)
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "UPDATE n SET v = 2"); err != nil {
		t.Fatal(err)
	}
	want(t, f.Reader, 1) // a reader does not wait for a writer
	check(t, tx.Commit())
	want(t, f.Reader, 2)
	if _, err := f.Reader.ExecContext(t.Context(), "UPDATE n SET v = 3"); err == nil {
		t.Error("the reader writes")
	}
	again, err := dbtest.OpenSQLite(f.Path)
	check(t, err)
	want(t, again.Reader, 2)
	check(t, again.Close())
}
