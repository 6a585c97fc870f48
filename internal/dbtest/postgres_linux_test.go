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
		segment := segmentOf(t, s.SocketDir())
		if !hasSegment(t, segment) {
			t.Fatalf("a running server has no shared memory %d: this test looks in the wrong place", segment)
		}
		check(t, s.Kill())
		if hasSegment(t, segment) {
			t.Errorf("the shared memory %d of a killed server is still there", segment)
		}
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
	t.Run("backends", func(t *testing.T) { backends(t, s, db) })
	t.Run("dies with its test", diesWithItsTest)
	t.Run("old copy", func(t *testing.T) {
		execute(t, db, "UPDATE n SET v = 2")
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

// backends freezes and kills the process behind one connection.
func backends(t *testing.T, s *dbtest.PostgresServer, db *sql.DB) {
	conn, err := db.Conn(t.Context())
	check(t, err)
	defer conn.Close()
	var pid, value int
	check(t, conn.QueryRowContext(t.Context(), "SELECT pg_backend_pid(), v FROM n").Scan(&pid, &value))

	check(t, s.FreezeBackend(pid))
	done := make(chan error, 1)
	go func() { done <- conn.PingContext(t.Context()) }()
	want(t, db, value) // the other backends are not affected
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
	const delay = 700 * time.Millisecond
	s := dbtest.Postgres(t)
	db := table(t, s)
	standby, err := s.Standby(0)
	check(t, err)
	late, err := s.Standby(delay)
	check(t, err)
	replica, lateReplica := open(t, standby), open(t, late)

	begin := time.Now()
	execute(t, db, "UPDATE n SET v = 2")
	eventually(t, replica, 2)
	eventually(t, lateReplica, 2)
	if lag := time.Since(begin); lag < delay {
		t.Errorf("a standby with a delay of %v shows a commit after %v", delay, lag)
	}

	check(t, standby.Cut(t.Context()))
	execute(t, db, "UPDATE n SET v = 3")
	check(t, s.Stop())
	check(t, standby.Promote(t.Context()))
	want(t, replica, 2) // the standby has not received the last commit
	execute(t, replica, "UPDATE n SET v = 4")
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
