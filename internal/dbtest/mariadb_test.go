package dbtest_test

import (
	"context"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
)

func TestMariaDB(t *testing.T) {
	s := dbtest.MariaDB(t, "max-connections=37")
	_, other := s.Database(t)
	execute(t, other, "CREATE TABLE n (v int)")
	_, db := s.Database(t)
	execute(t, db, "CREATE TABLE n (v int)")
	execute(t, db, "INSERT INTO n VALUES (1)")
	var n int
	check(t, db.QueryRowContext(t.Context(), "SELECT @@max_connections").Scan(&n))
	if n != 37 {
		t.Errorf("max_connections = %d, want 37", n)
	}
	check(t, s.Freeze())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := db.PingContext(ctx); err == nil {
		t.Error("a frozen server answers")
	}
	check(t, s.Continue())
	want(t, db, 1)
	s.Kill()
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("a killed server answers")
	}
	check(t, s.Start())
	want(t, db, 1)
}
