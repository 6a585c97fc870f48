package sqllogtest_test

import (
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// A replica has reached what this process has applied, or it has not: data and records
// arrive there in one order.
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
		t.Error("before the first Sync the replica has reached what nobody knows")
	}
	p.sync()
	p.sync() // applied
	waitFor(t, pool, "SELECT count(*) FROM twofold_meta WHERE key_end > 0")
	if !reached() {
		t.Error("the replica is where the primary is, and has not reached it")
	}
	if err := standby.Exec(t.Context(), "", "SELECT pg_wal_replay_pause()"); err != nil {
		t.Fatal(err)
	}
	commit(t, r, p.log, org(1))
	p.sync()
	if !reached() { // what a Sync returns is applied when the next one is called
		t.Error("the replica is behind what was not applied yet")
	}
	p.sync()
	if reached() {
		t.Error("the replica lags, and has reached what it does not have")
	}
	if err := standby.Exec(t.Context(), "", "SELECT pg_wal_replay_resume()"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, pool, "SELECT count(*) FROM twofold_log WHERE seq = 2 AND pos & 4294967295 = 1")
	if !reached() {
		t.Error("the replica has caught up, and has not reached it")
	}
	// A log is no replica of another one.
	if yes, err := r.fresh(sqllog.Config{})().Replica(t.Context(), pool); yes || err != nil {
		t.Errorf("Replica of another log = %v, %v", yes, err)
	}
	if _, err := sqllog.New(pool, sqllog.Config{Dialect: sqllog.Postgres}).Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{}); err == nil {
		t.Error("Sync on a standby = nil, want an error")
	}
}
