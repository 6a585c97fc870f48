package dbtest_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
)

// table makes a table with one row in the database postgres.
func table(t *testing.T, s *dbtest.PostgresServer) *sql.DB {
	t.Helper()
	db := open(t, s)
	execute(t, db, "CREATE TABLE n (v int)")
	execute(t, db, "INSERT INTO n VALUES (1)")
	return db
}

func open(t *testing.T, s *dbtest.PostgresServer) *sql.DB {
	t.Helper()
	db, err := s.Open("")
	check(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

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

func TestPostgres(t *testing.T) {
	s := dbtest.Postgres(t, "max_connections=37")
	t.Run("settings", func(t *testing.T) {
		var n int
		check(t, open(t, s).QueryRowContext(t.Context(), "SELECT current_setting('max_connections')::int").Scan(&n))
		if n != 37 {
			t.Errorf("max_connections = %d, want 37", n)
		}
	})
	t.Run("fresh databases", func(t *testing.T) {
		_, a := s.Database(t)
		_, b := s.Database(t)
		execute(t, a, "CREATE TABLE n (v int)")
		execute(t, b, "CREATE TABLE n (v int)")
	})
	db := table(t, s)
	t.Run("stop", func(t *testing.T) {
		check(t, s.Stop())
		if err := db.PingContext(t.Context()); err == nil {
			t.Error("a stopped server answers")
		}
		check(t, s.Start())
		want(t, db, 1)
	})
	t.Run("kill", func(t *testing.T) {
		execute(t, db, "UPDATE n SET v = 2")
		check(t, s.Kill())
		if err := db.PingContext(t.Context()); err == nil {
			t.Error("a killed server answers")
		}
		check(t, s.Start())
		want(t, db, 2)
	})
	t.Run("freeze", func(t *testing.T) {
		check(t, s.Freeze())
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := db.PingContext(ctx); err == nil {
			t.Error("a frozen server answers")
		}
		check(t, s.Continue())
		want(t, db, 2)
	})
	t.Run("old copy", func(t *testing.T) {
		old, err := s.CopyData()
		check(t, err)
		for range 2 {
			execute(t, db, "UPDATE n SET v = 3")
			want(t, db, 3)
			check(t, s.RestoreData(old))
			want(t, db, 2)
		}
	})
}

func TestPostgresBackends(t *testing.T) {
	s := dbtest.Postgres(t)
	db := table(t, s)
	conn, err := db.Conn(t.Context())
	check(t, err)
	defer conn.Close()
	var pid int
	check(t, conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&pid))

	check(t, s.FreezeBackend(pid))
	done := make(chan error, 1)
	go func() { done <- conn.PingContext(t.Context()) }()
	want(t, db, 1) // the others go on
	select {
	case err := <-done:
		t.Errorf("a frozen backend answers: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	check(t, s.ContinueBackend(pid))
	check(t, <-done)

	check(t, s.KillBackend(pid))
	if err := conn.PingContext(t.Context()); err == nil {
		t.Error("a killed backend answers")
	}
	if err := s.KillBackend(1); err == nil {
		t.Error("KillBackend signals a process that is not the server's")
	}
}

func TestPostgresStandby(t *testing.T) {
	s := dbtest.Postgres(t)
	db := table(t, s)
	standby, err := s.Standby(0)
	check(t, err)
	replica := open(t, standby)
	execute(t, db, "UPDATE n SET v = 2")
	eventually(t, replica, 2)
	check(t, standby.Cut(t.Context()))
	execute(t, db, "UPDATE n SET v = 3")
	check(t, s.Stop())
	check(t, standby.Promote(t.Context()))
	want(t, replica, 2) // the last commit is lost
	execute(t, replica, "UPDATE n SET v = 4")
}

func TestPostgresStandbyLags(t *testing.T) {
	const delay = 700 * time.Millisecond
	s := dbtest.Postgres(t)
	db := table(t, s)
	standby, err := s.Standby(delay)
	check(t, err)
	replica := open(t, standby)
	begin := time.Now()
	execute(t, db, "UPDATE n SET v = 2")
	eventually(t, replica, 2)
	if lag := time.Since(begin); lag < delay {
		t.Errorf("the standby shows a commit after %v, want at least %v", lag, delay)
	}
}

func eventually(t *testing.T, db *sql.DB, value int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for got := 0; got != value; <-time.After(5 * time.Millisecond) {
		if err := db.QueryRowContext(t.Context(), "SELECT v FROM n").Scan(&got); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the row stays at %d, want %d", got, value)
		}
	}
}
