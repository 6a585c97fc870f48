package sqllogtest_test

import (
	"fmt"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// Old records are removed, and a reader that has not seen them detects the gap.
func TestRetain(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{Retain: sqllog.MinRetain})
		a := invalidate.Append{Keys: oneKey().Keys, Scopes: []invalidate.Fence{{Scope: org(1)}}}
		for range 600 {
			p.append(a)
		}
		p.sync()
		for seq, want := range map[string]int{"1": 188, "2": 188} { // 600 - 512 + 100
			if n := r.count(t, "SELECT count(*) FROM twofold_log WHERE seq = "+seq); n != want {
				t.Errorf("sequence %s has %d records, want %d", seq, n, want)
			}
		}
		late := r.process(t, sqllog.Config{})
		if late.keys[0].At.N() != 413 || late.keys[0].Bump || late.at != p.at {
			t.Errorf("a late reader begins at %+v and ends at %+v", late.keys[0], late.at)
		}
		p.want()
	})
}

// A row that is too large for a record is numbered, too, even if SQLite cannot hold twice its text.
func TestRowsUpToTheLimitOfSQLite(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	r.readers = r.db
	p := r.process(t, sqllog.Config{})
	r.exec(t, `INSERT INTO twofold_outbox (scopes) VALUES (printf('%*s', 15000000, '["t","default","org:1"]'))`)
	r.db.SetMaxOpenConns(1) // one connection, which keeps the limit
	conn, err := r.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const limitLength = 0 // SQLITE_LIMIT_LENGTH
	if _, err := sqlite.Limit(conn, limitLength, 20_000_000); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	p.sync()
	if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 0 {
		t.Errorf("%d rows are left, want none", n)
	}
}

// A stage whose texts are too long for a statement invalidates everything.
func TestTooMuchForAStatement(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		var b strings.Builder
		for i := range 10_000 { // three times as long as keys
			fmt.Fprintf(&b, `,["v","t","n","%0300d"]`, i)
		}
		text := "[" + strings.ReplaceAll(b.String()[1:], "0", " ") + "]"
		const query = "INSERT INTO twofold_outbox (scopes) VALUES ("
		if r.dialect == sqllog.MariaDB {
			_, err := r.db.ExecContext(t.Context(), query+"?)", text)
			must(t, err)
		} else {
			_, err := r.db.ExecContext(t.Context(), query+"$1)", text)
			must(t, err)
		}
		p.want(invalidate.All())
		if s := p.log.Stats(); s.Damaged != 0 {
			t.Errorf("Stats = %+v, want no damage", s)
		}
	})
}

// Everybody can read the records with the database's own client.
func TestRecordsAreText(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		commit(t, r, p.log, key42(t), invalidate.Tag("default", "é世界\n'\\"), invalidate.Prefix("default", "users:"))
		p.sync()
		for seq, want := range map[int]string{1: "k default:users:v1:42", 2: `t default:é世界\x0a'\\` + "\np default:users:"} {
			var got string
			if err := r.db.QueryRowContext(t.Context(), fmt.Sprintf("SELECT payload FROM twofold_log WHERE seq = %d ORDER BY pos DESC LIMIT 1", seq)).Scan(&got); err != nil || got != want {
				t.Errorf("sequence %d has %q, %v; want %q", seq, got, err, want)
			}
		}
	})
}

// A plan made for empty tables reads them in full, and PostgreSQL keeps it until the tables are
// analyzed. Neither records nor dead rows may be read in full.
func TestPlansGrowWithTables(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.db.SetMaxOpenConns(1) // one connection, which keeps the plans
	r.exec(t, "ALTER TABLE twofold_log SET (autovacuum_enabled = off)")
	r.exec(t, "ALTER TABLE twofold_outbox SET (autovacuum_enabled = off)")
	r.exec(t, "VACUUM ANALYZE twofold_log, twofold_outbox")
	beginOld(t, r)
	p := r.process(t, sqllog.Config{})
	for range 10 {
		p.sync()
	}
	for range 10 { // 10,000 rows, which an old snapshot keeps
		r.exec(t, `INSERT INTO twofold_outbox (scopes) SELECT '[["t","default","org:1"]]' FROM generate_series(1, 1000)`)
		p.sync()
	}
	a := invalidate.Append{Keys: oneKey().Keys, Scopes: []invalidate.Fence{{Scope: org(1)}}}
	for range 300 {
		p.append(a)
	}
	p.sync()
	for _, table := range []string{"twofold_outbox", "twofold_log"} {
		before := scans(t, r, table)
		for range 20 {
			p.sync()
			if _, err := p.log.Sync(t.Context(), invalidate.Cursor{Key: p.at.Key, Scope: p.at.Scope}, invalidate.Append{}); err != nil {
				t.Fatal(err)
			}
		}
		if n := scans(t, r, table) - before; n > 0 {
			t.Errorf("%s was read in full %d times", table, n)
		}
	}
}

// beginOld begins a transaction whose snapshot keeps dead rows.
func beginOld(t *testing.T, r *rig) {
	t.Helper()
	tx := begin(t, openAs(t, "pgx", r.postgres.DSN(r.name)))
	for _, q := range []string{"SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "SELECT count(*) FROM twofold_meta"} {
		if _, err := tx.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
}

// scans returns how often a table was read in full.
func scans(t *testing.T, r *rig, table string) (n int) {
	t.Helper()
	r.exec(t, "SELECT pg_stat_force_next_flush()")
	return r.count(t, "SELECT seq_scan FROM pg_stat_user_tables WHERE relname = '"+table+"'")
}
