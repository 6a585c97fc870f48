package dbtest_test

import (
	"database/sql"
	"testing"
)

func execute(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, db *sql.DB, value int) {
	t.Helper()
	var got int
	// A pool's connections may have died with the server.
	for range 3 {
		if err := db.QueryRowContext(t.Context(), "SELECT v FROM n").Scan(&got); err == nil {
			break
		}
	}
	if got != value {
		t.Errorf("the row says %d, want %d", got, value)
	}
}
