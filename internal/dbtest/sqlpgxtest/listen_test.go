// Package sqlpgxtest_test tries package sqlpgx on a real PostgreSQL.
package sqlpgxtest_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/sqlpgx"
)

// patience bounds the wait for events that come soon on a healthy server.
const patience = 20 * time.Second

// rig is a server, and one database in it with the tables of a log.
type rig struct {
	*dbtest.PostgresServer

	name string
	db   *sql.DB
}

// newRig makes a database on the server.
func newRig(t *testing.T, s *dbtest.PostgresServer) *rig {
	t.Helper()
	name, db := s.Database(t)
	r := &rig{s, name, db}
	check(t, sqllog.New(db, sqllog.Config{Dialect: sqllog.Postgres}).Install(t.Context()))
	return r
}

func (r *rig) listener(t *testing.T, cfg sqlpgx.ListenerConfig) *sqlpgx.Listener {
	t.Helper()
	var err error
	if cfg.Conn == nil {
		cfg.Conn, err = pgx.ParseConfig(r.DSN(r.name))
		check(t, err)
	}
	cfg.Logger = slog.New(slog.DiscardHandler)
	l, err := sqlpgx.NewListener(cfg)
	check(t, err)
	t.Cleanup(l.Close)
	return l
}

// open returns a log that polls every poll and is woken by the listener.
func (r *rig) open(l *sqlpgx.Listener, poll time.Duration) *sqllog.Log {
	return sqllog.New(r.db, sqllog.Config{Dialect: sqllog.Postgres, Bound: time.Minute, Poll: poll, Wait: l.Wait})
}

// follow delivers the tags that a log's Tail returns, until the test ends.
func follow(t *testing.T, log *sqllog.Log) <-chan uint64 {
	t.Helper()
	p, err := log.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
	check(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	got, done, at := make(chan uint64, 100), make(chan struct{}), p.End
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			p, _ := log.Tail(ctx, at) // a lost connection is what some tests are about
			for _, rec := range p.Scopes {
				at.Scope, at.ScopeID = rec.At, rec.ID
				for _, f := range rec.Fences {
					got <- f.Scope.Hash()
				}
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return got
}

// commit commits an invalidation, like a process that does not follow the log.
func (r *rig) commit(t *testing.T, log *sqllog.Log, n int) uint64 {
	t.Helper()
	s := invalidate.Tag("t", strconv.Itoa(n))
	check(t, log.Tx(t.Context(), r.db, nil, func(tx *sqllog.Tx) error {
		tx.Invalidate(s)
		return nil
	}))
	return s.Hash()
}

func arrives(t *testing.T, got <-chan uint64, want uint64) {
	t.Helper()
	select {
	case hash := <-got:
		if hash != want {
			t.Fatalf("Tail returned %x, want %x", hash, want)
		}
	case <-time.After(patience):
		t.Fatal("Tail does not return the committed record")
	}
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !done(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what)
		}
	}
}

func connected(l *sqlpgx.Listener) func() bool { return func() bool { return l.Err() == nil } }

func lost(l *sqlpgx.Listener) func() bool { return func() bool { return l.Err() != nil } }

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// quiet checks that a Wait does not end.
func quiet(t *testing.T, l *sqlpgx.Listener) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := l.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait with nothing to hear = %v, want that its context ended", err)
	}
}

func heard(t *testing.T, l *sqlpgx.Listener) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := l.Wait(ctx); err != nil {
		t.Errorf("Wait = %v, want nil", err)
	}
}

func (r *rig) notify(t *testing.T, namespace string) {
	t.Helper()
	check(t, r.Exec(t.Context(), r.name, "SELECT pg_notify($1, $2)", sqllog.Channel, namespace))
}

func TestListener(t *testing.T) {
	s := dbtest.Postgres(t)
	for _, tc := range []struct {
		name string
		test func(t *testing.T, r *rig)
	}{
		{"wait", testWait},
		{"with LISTEN a commit reaches another process at once", testLag},
		{"without a connection the log polls", testPolls},
		{"connects again", testConnectsAgain}, // last: it stops the server
	} {
		t.Run(tc.name, func(t *testing.T) { tc.test(t, newRig(t, s)) })
	}
}

func testWait(t *testing.T, r *rig) {
	l := r.listener(t, sqlpgx.ListenerConfig{Namespace: "app"})
	heard(t, l) // it may have missed earlier notifications
	check(t, l.Err())
	quiet(t, l)

	r.notify(t, "other")
	quiet(t, l)
	r.notify(t, "app") // while nothing waits
	heard(t, l)
	quiet(t, l)

	done := make(chan error, 1)
	go func() { done <- l.Wait(context.Background()) }()
	l.Close()
	if err := <-done; !errors.Is(err, sqlpgx.ErrClosed) {
		t.Errorf("Wait after Close = %v, want ErrClosed", err)
	}
	if err := l.Err(); !errors.Is(err, sqlpgx.ErrClosed) {
		t.Errorf("Err after Close = %v, want ErrClosed", err)
	}
	l.Close()
	eventually(t, "Close leaves the connection open", func() bool { return len(r.listening(t)) == 0 })
}

// listening returns the server processes whose last statement was LISTEN.
func (r *rig) listening(t *testing.T) (pids []int) {
	t.Helper()
	rows, err := r.db.QueryContext(t.Context(), "SELECT pid FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database() AND pid <> pg_backend_pid()")
	check(t, err)
	defer rows.Close()
	for rows.Next() {
		var pid int
		check(t, rows.Scan(&pid))
		pids = append(pids, pid)
	}
	check(t, rows.Err())
	return pids
}

// Both processes poll very rarely.
func testLag(t *testing.T, r *rig) {
	var logs [2]*sqllog.Log
	var tails [2]<-chan uint64
	for i := range logs {
		l := r.listener(t, sqlpgx.ListenerConfig{})
		logs[i] = r.open(l, time.Minute)
		tails[i] = follow(t, logs[i])
		eventually(t, "the listener does not connect", connected(l))
	}
	var lags []time.Duration
	for n := range 40 {
		hash := r.commit(t, logs[0], n)
		begin := time.Now()
		arrives(t, tails[1], hash)
		lags = append(lags, time.Since(begin))
		arrives(t, tails[0], hash)
	}
	slices.Sort(lags)
	median := lags[len(lags)/2]
	t.Logf("lag from COMMIT to another process: p50 %v, longest %v", median, lags[len(lags)-1])
	if median > time.Second { // a Tail without a notification returns after 15 s
		t.Errorf("the median lag is %v", median)
	}
}

func testPolls(t *testing.T, r *rig) {
	nowhere, err := pgx.ParseConfig("postgres://127.0.0.1:1/none")
	check(t, err)
	l := r.listener(t, sqlpgx.ListenerConfig{Conn: nowhere})
	reader, writer := r.open(l, 10*time.Millisecond), r.open(l, time.Minute)
	got := follow(t, reader)
	for n := range 3 {
		arrives(t, got, r.commit(t, writer, n))
	}
	if l.Err() == nil {
		t.Error("Err = nil without a server")
	}
}

func testConnectsAgain(t *testing.T, r *rig) {
	// A healthy server must answer a check in time, on a busy machine too: otherwise the connections come and go.
	l := r.listener(t, sqlpgx.ListenerConfig{Check: 3 * time.Second, Retry: 100 * time.Millisecond})
	heard(t, l)
	t.Run("after the server has ended the connection", func(t *testing.T) {
		check(t, r.Exec(t.Context(), "", "SELECT pg_terminate_backend($1)", r.listens(t)))
		r.wantBack(t, l)
	})
	t.Run("when the server process hangs", func(t *testing.T) {
		pid := r.listens(t)
		check(t, r.FreezeBackend(pid))
		r.wantBack(t, l)
		check(t, r.ContinueBackend(pid))
		eventually(t, "the old connection stays", func() bool { return len(r.listening(t)) == 1 })
	})
	t.Run("when the server is there again", func(t *testing.T) {
		check(t, r.Stop())
		eventually(t, "the listener does not see that the server is gone", lost(l))
		check(t, r.Start())
		r.wantBack(t, l)
	})
}

// listens returns the only process that listens, once those that were ended are gone.
func (r *rig) listens(t *testing.T) int {
	t.Helper()
	var pids []int
	eventually(t, "not one server process listens", func() bool {
		pids = r.listening(t)
		return len(pids) == 1
	})
	return pids[0]
}

// wantBack checks that the listener reconnects, reports that it may have missed something, and
// receives notifications again.
func (r *rig) wantBack(t *testing.T, l *sqlpgx.Listener) {
	t.Helper()
	heard(t, l)
	check(t, l.Err())
	r.notify(t, sqllog.DefaultNamespace)
	heard(t, l)
	quiet(t, l)
}

func TestConfig(t *testing.T) {
	conn, err := pgx.ParseConfig("postgres://127.0.0.1:1/none")
	check(t, err)
	for name, cfg := range map[string]sqlpgx.ListenerConfig{
		"no Conn":  {},
		"Retry <0": {Conn: conn, Retry: -1},
		"Check <0": {Conn: conn, Check: -1},
	} {
		if _, err := sqlpgx.NewListener(cfg); !errors.Is(err, sqlpgx.ErrConfig) {
			t.Errorf("%s: New = %v, want ErrConfig", name, err)
		}
	}
}
