package sqllogtest_test

import (
	"testing"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// firsts are who comes first after the tables went back. None of them knows what was lost: a process
// that knows more than the log is one sign of a loss, but often there is no such process. Each
// returns the epoch that it finds.
var firsts = map[string]func(t *testing.T, r *rig, cutOff *process) uint64{
	"a process that was cut off": func(_ *testing.T, _ *rig, cutOff *process) uint64 {
		cutOff.sync()
		return cutOff.at.Epoch
	},
	"a commit of a process that was cut off": func(t *testing.T, r *rig, cutOff *process) uint64 {
		commit(t, r, cutOff.log, org(3))
		if _, scopes := cutOff.sync(); len(scopes) == 0 || len(scopes[len(scopes)-1].Fences) != 1 {
			t.Errorf("its own commit is missing in %+v", scopes)
		}
		return cutOff.at.Epoch
	},
	"a new process": func(t *testing.T, r *rig, _ *process) uint64 { return r.process(t, sqllog.Config{}).at.Epoch },
	"a commit and a new process": func(t *testing.T, r *rig, _ *process) uint64 {
		commit(t, r, r.open(sqllog.Config{}), org(3))
		return r.process(t, sqllog.Config{}).at.Epoch
	},
}

// Tables that go back while the server runs lose commits that processes have read. Whoever comes
// first starts an epoch, so no process trusts what the lost commits made.
func TestPutBack(t *testing.T) {
	t.Parallel()
	for _, kind := range rigs {
		for name, save := range ways[kind.dialect] {
			t.Run(kind.name+", "+name, func(t *testing.T) {
				t.Parallel()
				r := kind.open(t)
				for first, come := range firsts {
					t.Run(first, func(t *testing.T) { putBack(t, r, save, come) })
				}
			})
		}
	}
}

// putBack saves the tables, lets a process commit and end, and puts the tables back.
func putBack(t *testing.T, r *rig, save keep, come func(*testing.T, *rig, *process) uint64) {
	cutOff := r.process(t, sqllog.Config{})
	commit(t, r, cutOff.log, org(1))
	cutOff.sync()
	back := save(t, r)
	lost := r.process(t, sqllog.Config{})
	for range 2 {
		commit(t, r, lost.log, key42(t), org(2))
		lost.sync()
	}
	back()
	cutOff.t = t
	found := come(t, r, cutOff)
	if found == lost.at.Epoch {
		t.Error("no epoch was started")
	}
	for name, p := range map[string]*process{"the process that was cut off": cutOff, "a new process": r.process(t, sqllog.Config{})} {
		if p.sync(); p.at.Epoch != found {
			t.Errorf("another epoch for %s", name)
		}
	}
	cutOff.want()
}

// An old copy of the server's data starts an epoch as well.
func TestLostEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range rigs {
		t.Run("tables of a dump, "+kind.name, func(t *testing.T) { lostTables(t, kind.open(t), 0) })
		t.Run("tables of a dump that were written to, "+kind.name, func(t *testing.T) { lostTables(t, kind.open(t), 2) })
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
