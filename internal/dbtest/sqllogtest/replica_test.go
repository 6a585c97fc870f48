package sqllogtest_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// Replica reports whether a replica has reached what this process has applied: data and records
// arrive there in the same order.
func TestReplica(t *testing.T) {
	t.Parallel()
	r := postgresRig(t)
	standby, err := r.postgres.Standby(0)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := standby.Open(r.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	p := &process{t: t, log: r.open(sqllog.Config{})}
	reached := func() bool {
		t.Helper()
		yes, err := p.log.Replica(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	if reached() {
		t.Error("before the first Sync the replica has reached an unknown position")
	}
	p.sync()
	waitFor(t, pool, "SELECT count(*) FROM twofold_meta WHERE key_end > 0")
	if !reached() {
		t.Error("the replica is where the primary is, and has not reached it")
	}
	if err := standby.Exec(t.Context(), "", "SELECT pg_wal_replay_pause()"); err != nil {
		t.Fatal(err)
	}
	commit(t, r, p.log, org(1))
	p.sync()
	if reached() {
		t.Error("the lagging replica counts as having reached the position")
	}
	if err := standby.Exec(t.Context(), "", "SELECT pg_wal_replay_resume()"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, pool, "SELECT count(*) FROM twofold_log WHERE seq = 2 AND pos & 4294967295 = 1")
	if !reached() {
		t.Error("the replica has caught up, and has not reached it")
	}
	// A log is not a replica of another log.
	if yes, err := r.fresh(sqllog.Config{})().Replica(t.Context(), pool); yes || err != nil {
		t.Errorf("Replica of another log = %v, %v", yes, err)
	}
	if _, err := sqllog.New(pool, sqllog.Config{Dialect: sqllog.Postgres}).Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{}); err == nil {
		t.Error("Sync on a standby = nil, want an error")
	}
}

// A caller applies an answer immediately, and may load before it makes another call. So the answer
// counts for a replica, even if another call returned it.
func TestReplicaBehindAnswer(t *testing.T) {
	t.Parallel()
	r, replica := sqliteRig(t), sqliteRig(t)
	p := r.process(t, sqllog.Config{Poll: time.Millisecond})
	copyMeta := func() {
		var key, scope, epoch int64
		if err := r.db.QueryRowContext(t.Context(), "SELECT key_end, scope_end, epoch FROM twofold_meta").Scan(&key, &scope, &epoch); err != nil {
			t.Fatal(err)
		}
		replica.exec(t, "REPLACE INTO twofold_meta (ns, key_end, scope_end, epoch) VALUES ('default', ?, ?, ?)", key, scope, epoch)
	}
	want := func(behind string, want bool) {
		t.Helper()
		if yes, err := p.log.Replica(t.Context(), replica.db); yes != want || err != nil {
			t.Errorf("Replica %s = %v, %v; want %v", behind, yes, err, want)
		}
	}
	copyMeta()
	want("that is where the log is", true)
	commit(t, r, r.open(sqllog.Config{}), key42(t))
	p.sync()
	want("behind what a Sync returned", false)
	copyMeta()
	want("that has caught up", true)
	commit(t, r, r.open(sqllog.Config{}), org(1))
	if page, err := p.log.Tail(t.Context(), p.at); err != nil || len(page.Scopes) != 1 {
		t.Fatalf("Tail = %+v, %v; want the row", page, err)
	}
	want("behind what a Tail returned", false)
	if err := p.log.NewEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.sync()
	want("of another epoch", false)
	copyMeta()
	want("of this epoch", true)
}
