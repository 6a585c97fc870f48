package sqllogtest_test

import (
	"testing"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// A log can lose its end in several ways. Each starts an epoch. A process that knows more than the
// log is one sign of a loss, but often there is no such process.
func TestLostEnd(t *testing.T) {
	t.Parallel()
	for _, rig := range []struct {
		name string
		open func(testing.TB) *rig
	}{{"sqlite", sqliteRig}, {"postgres", sharedPostgres}, {"mariadb", sharedMariaDB}} {
		t.Run("tables of a dump, "+rig.name, func(t *testing.T) { lostTables(t, rig.open(t), 0) })
		t.Run("tables of a dump that were written to, "+rig.name, func(t *testing.T) { lostTables(t, rig.open(t), 2) })
	}
	r := postgresRig(t)
	t.Run("an old copy that nobody knows more than", func(t *testing.T) { lostCopy(t, r, 0, 0) })
	t.Run("an old copy that a process knows more than", func(t *testing.T) { lostCopy(t, r, 1, 0) })
	t.Run("an old copy that was written to", func(t *testing.T) { lostCopy(t, r, 1, 2) })
}

// lostTables restores the tables to their state two commits earlier, on the same server, and
// appends some more.
func lostTables(t *testing.T, r *rig, more int) {
	p := r.process(t, sqllog.Config{})
	for _, table := range []string{"log", "meta"} {
		r.exec(t, "CREATE TABLE saved_"+table+" AS SELECT * FROM twofold_"+table)
	}
	for n := range 2 {
		commit(t, r, p.log, org(n))
		p.sync()
	}
	for _, table := range []string{"log", "meta"} {
		r.exec(t, "DELETE FROM twofold_"+table)
		r.exec(t, "INSERT INTO twofold_"+table+" SELECT * FROM saved_"+table)
	}
	writeMore(t, r, more)
	if !p.bumped() {
		t.Error("no epoch was started")
	}
}

// lostCopy restores the server's data to their state before a process of the fleet, which has since
// ended, made commits. The remaining process knows some of them. Then lostCopy appends some more.
func lostCopy(t *testing.T, r *rig, known, more int) {
	p := r.process(t, sqllog.Config{})
	copied, err := r.postgres.CopyData()
	if err != nil {
		t.Fatal(err)
	}
	for range known {
		commit(t, r, p.log, org(1))
		p.sync()
	}
	writeMore(t, r, 1) // may have been read, and may be cached
	if err := r.postgres.RestoreData(copied); err != nil {
		t.Fatal(err)
	}
	r.reconnect(t)
	writeMore(t, r, more)
	if !p.bumped() {
		t.Error("no epoch was started")
	}
}

// writeMore makes commits. A process without earlier knowledge numbers them.
func writeMore(t *testing.T, r *rig, n int) {
	t.Helper()
	for range n {
		other := r.open(sqllog.Config{})
		commit(t, r, other, org(7))
		(&process{t: t, log: other}).sync()
	}
}
