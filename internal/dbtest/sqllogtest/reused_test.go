package sqllogtest_test

import (
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// Between stage and numbering, another row may get the id of a staged one: another process has
// numbered that row, and then the sequence began again, as restore scripts, TRUNCATE and frameworks
// make it. Or a person changes the row. Numbering must not delete it from the outbox.
func TestReusedID(t *testing.T) {
	t.Parallel()
	const change = "UPDATE twofold_outbox SET scopes = '[[\"t\",\"default\",\"org:2\"]]'"
	eachDatabase(t, func(t *testing.T, r *rig) {
		for _, again := range map[sqllog.Dialect][]string{
			sqllog.SQLite:   {change, "DELETE FROM sqlite_sequence"},
			sqllog.Postgres: {change, "SELECT setval(pg_get_serial_sequence('twofold_outbox', 'id'), {id}, false)", "TRUNCATE twofold_outbox RESTART IDENTITY"},
			sqllog.MariaDB:  {change, "TRUNCATE TABLE twofold_outbox", "ALTER TABLE twofold_outbox AUTO_INCREMENT = 1"},
		}[r.dialect] {
			t.Run(again, func(t *testing.T) { reused(t, r, again, again == change) })
		}
	})
}

// reused commits a row, and makes its id belong to another row while its cells are removed.
func reused(t *testing.T, r *rig, again string, change bool) {
	at := func(id int) string { return strings.ReplaceAll(again, "{id}", strconv.Itoa(id)) }
	r.exec(t, "DELETE FROM twofold_outbox")
	if !change {
		r.exec(t, at(1))
	}
	open := r.fresh(sqllog.Config{})
	c := &cells{}
	handle := func(c *cells) *process {
		p := &process{t: t, log: open()}
		p.log.Open(invalidate.Hooks{Tier: "redis", Remove: c.remove})
		p.sync()
		return p
	}
	slow, other, bystander := handle(c), handle(&cells{}), handle(&cells{})
	commit(t, r, slow.log, key42(t))
	id := r.count(t, "SELECT max(id) FROM twofold_outbox")
	c.during = func([]string) error {
		c.during = nil
		if change {
			r.exec(t, again)
			return nil
		}
		other.sync()
		r.exec(t, at(id))
		commit(t, r, other.log, org(2))
		if n := r.count(t, "SELECT max(id) FROM twofold_outbox"); n != id {
			t.Errorf("the new row has id %d, want %d: this test proves nothing", n, id)
		}
		return nil
	}
	slow.sync()
	slow.sync()
	bystander.sync()
	if !slices.ContainsFunc(bystander.scopes, func(rec invalidate.Record) bool { return slices.Contains(rec.Fences, invalidate.Fence{Scope: org(2)}) }) {
		t.Errorf("records %+v lack the row that was committed", bystander.scopes)
	}
	if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 0 {
		t.Errorf("%d rows are left in the outbox", n)
	}
}

// MariaDB numbers in two statements. Between them, another process may have numbered the same rows,
// and their ids may be used again.
func TestReusedIDBetweenStatements(t *testing.T) {
	t.Parallel()
	r := sharedMariaDB(t)
	for _, scopes := range []string{`[["t","default","org:2"]]`, `[["t","default","org:1"]]`} {
		p := r.process(t, sqllog.Config{})
		commit(t, r, p.log, org(1))
		tx := begin(t, r.db) // it holds the row, so the second statement waits
		var id int
		must(t, tx.QueryRowContext(t.Context(), "SELECT id FROM twofold_outbox FOR UPDATE").Scan(&id))
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = p.log.Sync(t.Context(), p.at, invalidate.Append{}) // its page may end before the new row
		}()
		waitFor(t, r.db, "SELECT count(*) FROM information_schema.processlist WHERE info LIKE 'DELETE o FROM%' AND db = DATABASE()")
		for _, statement := range []string{"DELETE FROM twofold_outbox", "INSERT INTO twofold_outbox (id, scopes) VALUES (" + strconv.Itoa(id) + ", '" + scopes + "')"} {
			_, err := tx.ExecContext(t.Context(), statement)
			must(t, err)
		}
		must(t, tx.Commit())
		<-over
		if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 1 {
			t.Errorf("%d rows are in the outbox, want the new one, which names %s", n, scopes)
		}
		p.sync()
	}
}

// On PostgreSQL, a person may hold a staged row while it is numbered. The statement waits, and looks
// at the row again: it leaves a changed row, and deletes one whose change was rolled back.
func TestChangedWhileNumbering(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	for name, tt := range map[string]struct {
		end  func(*sql.Tx) error
		want invalidate.Scope
	}{"COMMIT": {(*sql.Tx).Commit, org(2)}, "ROLLBACK": {(*sql.Tx).Rollback, org(1)}} {
		p := r.process(t, sqllog.Config{})
		commit(t, r, p.log, org(1))
		tx := begin(t, r.db)
		_, err := tx.ExecContext(t.Context(), `UPDATE twofold_outbox SET scopes = '[["t","default","org:2"]]'`)
		must(t, err)
		over := make(chan error)
		go func() {
			_, err := p.log.Sync(t.Context(), p.at, invalidate.Append{})
			over <- err
		}()
		waitFor(t, r.db, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE 'WITH held%'")
		must(t, tt.end(tx))
		must(t, <-over)
		if _, scopes := p.sync(); !slices.ContainsFunc(scopes, func(rec invalidate.Record) bool { return slices.Contains(rec.Fences, invalidate.Fence{Scope: tt.want}) }) {
			t.Errorf("after %s, records %+v lack the row", name, scopes)
		}
		if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 0 {
			t.Errorf("after %s, %d rows are left in the outbox", name, n)
		}
	}
}
