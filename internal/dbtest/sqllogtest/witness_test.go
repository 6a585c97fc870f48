package sqllogtest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// What operators and the log do every day starts no epoch.
func TestEverydayStartsNoEpoch(t *testing.T) {
	t.Parallel()
	everyday := map[sqllog.Dialect][]string{
		sqllog.Postgres: {
			"BEGIN; SELECT 1 FROM twofold_meta FOR UPDATE; COMMIT",
			"VACUUM", "VACUUM FREEZE twofold_meta", "VACUUM FULL twofold_meta", "VACUUM (FULL, FREEZE)", "ANALYZE",
			"REINDEX TABLE twofold_meta", "REINDEX TABLE CONCURRENTLY twofold_meta", "CLUSTER twofold_meta USING twofold_meta_pkey",
			"CREATE INDEX ON twofold_meta (epoch)", "GRANT SELECT ON twofold_meta TO PUBLIC", "ALTER TABLE twofold_meta ADD COLUMN more int DEFAULT 1",
			"ALTER TABLE twofold_meta RENAME TO aside; ALTER TABLE aside RENAME TO twofold_meta",
			"SELECT setval(pg_get_serial_sequence('twofold_outbox', 'id'), 1, false)", "TRUNCATE twofold_outbox RESTART IDENTITY", "CHECKPOINT",
		},
		sqllog.MariaDB: {
			"ANALYZE TABLE twofold_meta", "CHECK TABLE twofold_meta", "FLUSH TABLES",
			"CREATE TRIGGER told AFTER INSERT ON twofold_outbox FOR EACH ROW SET @n = 1", "DROP TRIGGER told",
			"OPTIMIZE TABLE twofold_outbox", "OPTIMIZE TABLE twofold_log", "TRUNCATE TABLE twofold_outbox", "ALTER TABLE twofold_outbox AUTO_INCREMENT = 1",
			"SET time_zone = '+05:30'",
		},
		sqllog.SQLite: {
			"PRAGMA wal_checkpoint(TRUNCATE)", "VACUUM", "ANALYZE", "PRAGMA optimize", "REINDEX", "CREATE TABLE more (id)", "CREATE INDEX i ON more (id)",
			"ALTER TABLE twofold_meta ADD COLUMN more", "CREATE TEMP TABLE t (id)", "PRAGMA user_version = 7", "PRAGMA incremental_vacuum",
			"DELETE FROM sqlite_sequence",
		},
	}
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.db.SetMaxOpenConns(1) // a transaction is on the log's connection
		p := r.process(t, sqllog.Config{})
		for _, statement := range append([]string{"SELECT 1"}, everyday[r.dialect]...) {
			t.Run(statement, func(t *testing.T) {
				p.t = t
				r.exec(t, statement)
				p.want()
				commit(t, r, p.log, org(1), key42(t))
				p.want(org(1), key42(t))
			})
		}
		p.t = t
		tx := begin(t, r.db)
		_, err := tx.ExecContext(t.Context(), "UPDATE twofold_meta SET key_end = 9, epoch = 9")
		must(t, errors.Join(err, tx.Rollback()))
		p.want()
		if r.dialect == sqllog.SQLite {
			r.close()
			p.want()
			apiBackup(t, r, filepath.Join(t.TempDir(), "backup.db"))
			p.want()
		}
	})
}

// PostgreSQL gives a row that a savepoint wrote another xmin than the one that the log notes. So
// every write of meta must be outside of savepoints.
func TestWritesMetaAtTopLevel(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	l := r.open(sqllog.Config{Poll: time.Millisecond})
	p := &process{t: t, log: l}
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"the first Sync", func() { p.sync() }},
		{"a tier", func() {
			l.Open(invalidate.Hooks{Tier: "redis", Remove: func(context.Context, []string) error { return nil }})
			p.sync()
		}},
		{"a larger bound", func() {
			r.open(sqllog.Config{Bound: time.Minute}).Open(invalidate.Hooks{Tier: "redis"})
			p.log = l
			p.sync()
		}},
		{"numbering", func() { commit(t, r, l, org(1), key42(t)); p.sync() }},
		{"an append", func() { p.append(oneKey()) }},
		{"numbering by a Tail", func() {
			commit(t, r, l, org(1))
			if page, err := l.Tail(t.Context(), p.at); err != nil || len(page.Scopes) != 1 {
				t.Errorf("Tail = %+v, %v", page, err)
			}
		}},
		{"NewEpoch", func() { must(t, l.NewEpoch(t.Context())) }},
		{"many numberings", func() {
			for range 300 { // long enough to remove old records
				commit(t, r, l, org(1))
				p.sync()
			}
		}},
	} {
		step.do()
		if n := r.count(t, "SELECT count(*) FROM twofold_meta WHERE xmin = born::xid"); n != 1 {
			t.Errorf("after %s, xmin of meta is not born", step.name)
		}
	}
	r.exec(t, "BEGIN; SAVEPOINT s; UPDATE twofold_meta SET born = pg_current_xact_id(); COMMIT")
	if !p.bumped() {
		t.Error("a write inside a savepoint goes unnoticed: this test proves nothing")
	}
}

// Tables of another version are refused, also by Install, until they are dropped.
func TestOtherVersion(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		r.exec(t, "UPDATE twofold_meta SET version = 2")
		_, err := p.log.Sync(t.Context(), p.at, invalidate.Append{})
		for what, err := range map[string]error{"Sync": err, "Install": r.open(sqllog.Config{}).Install(t.Context())} {
			if !errors.Is(err, sqllog.ErrSchema) || !strings.Contains(err.Error(), "drop tables of another version") {
				t.Errorf("%s with tables of another version = %v, want ErrSchema with the remedy", what, err)
			}
		}
		r.migrate(t, "migrate/0001_twofold_log.down.sql")
		must(t, r.open(sqllog.Config{}).Install(t.Context()))
		p.sync()
		commit(t, r, p.log, org(1))
		p.want(org(1))
	})
}

// migrate runs a file of Migrations.
func (r *rig) migrate(t *testing.T, file string) {
	t.Helper()
	b, err := sqllog.Migrations(r.dialect).(interface {
		ReadFile(name string) ([]byte, error)
	}).ReadFile(file)
	must(t, err)
	for statement := range strings.SplitSeq(string(b), ";\n") {
		if strings.TrimSpace(statement) != "" {
			r.exec(t, statement)
		}
	}
}

// MariaDB notes the second of its start. Another start within the same seconds is another one.
func TestRestartWithinSeconds(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t)
	name, db := s.Database(t)
	r := (&rig{dialect: sqllog.MariaDB, db: db, mariadb: s, name: name}).install(t)
	started := func() int {
		return r.count(t, "SELECT CAST(UNIX_TIMESTAMP() - variable_value AS SIGNED) FROM information_schema.global_status WHERE variable_name = 'Uptime'")
	}
	for range 10 {
		must(t, restart(t, r)) // then the next start is soon after one
		p := r.process(t, sqllog.Config{})
		before := started()
		must(t, restart(t, r))
		within := started()-before <= 2
		if !p.bumped() {
			t.Errorf("a restart %d s after the last starts no epoch", started()-before)
		}
		if within {
			return
		}
	}
	t.Skip("this machine takes longer than two seconds to start a server")
}

func restart(t *testing.T, r *rig) error {
	t.Helper()
	r.mariadb.Kill()
	err := r.mariadb.Start()
	r.reconnect(t)
	return err
}

// A database without a file has no file beside it. Its schema cookie tells that a backup was loaded.
func TestInMemory(t *testing.T) {
	t.Parallel()
	r := (&rig{dialect: sqllog.SQLite, db: openAs(t, "sqlite", "file::memory:")})
	r.db.SetMaxOpenConns(1)
	r.install(t)
	p := r.process(t, sqllog.Config{})
	back := viaAPI(true)(t, r)
	lost := r.process(t, sqllog.Config{})
	commit(t, r, lost.log, org(1))
	lost.sync()
	back()
	if !p.bumped() {
		t.Error("no epoch was started")
	}
	commit(t, r, p.log, org(2))
	p.want(org(2))
	p.want()
}

// A numbering writes the file beside the database before it commits. Processes that look in between
// must not take that for a loss.
func TestManyProcessesOnOneFile(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	path := r.file(t)
	p := r.process(t, sqllog.Config{})
	epoch := p.at.Epoch
	const processes, commits = 4, 50
	var all sync.WaitGroup
	for range processes {
		f, err := dbtest.OpenSQLite(path)
		must(t, err)
		t.Cleanup(func() { _ = f.Close() })
		o := &rig{dialect: sqllog.SQLite, db: f.Writer, readers: f.Reader}
		all.Go(func() {
			q := &process{log: o.open(sqllog.Config{}), at: p.at}
			for range commits {
				err := q.log.Tx(t.Context(), o.db, nil, func(tx *sqllog.Tx) error { tx.Invalidate(org(1)); return nil })
				page, err2 := q.log.Sync(t.Context(), q.at, invalidate.Append{})
				if err := errors.Join(err, err2); err != nil {
					t.Error(err)
					return
				}
				q.at = page.End
			}
		})
	}
	all.Wait()
	if p.sync(); p.at.Epoch != epoch {
		t.Error("an epoch was started")
	}
}

// A process that cannot write the file beside the database must not renew a lease, and says why.
func TestSidecarOutOfReach(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	p := r.process(t, sqllog.Config{})
	sidecar := r.file(t) + "-twofold"
	must(t, os.Remove(sidecar))
	must(t, os.Mkdir(sidecar, 0o700)) // also root cannot write to a folder
	_, err := p.log.Sync(t.Context(), p.at, invalidate.Append{})
	if err == nil || !strings.Contains(err.Error(), "-twofold") || !strings.Contains(err.Error(), "folder") {
		t.Errorf("Sync = %v, want the file and the remedy", err)
	}
	must(t, os.Remove(sidecar))
	if !p.bumped() || p.bumped() {
		t.Error("a lost sidecar must cost one epoch")
	}
}

// A file that is replaced under open connections leaves two databases: each process goes on with
// its own. That is against all advice. No Sync may pass over it in silence.
func TestReplacedUnderOpenConnections(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	p := r.process(t, sqllog.Config{})
	path := r.file(t)
	copied := filepath.Join(t.TempDir(), "copy.db")
	apiBackup(t, r, copied)
	for _, beside := range []string{"", "-wal", "-shm"} {
		remove(t, path+beside)
	}
	rename(t, copied, path)
	other, err := dbtest.OpenSQLite(path)
	must(t, err)
	t.Cleanup(func() { _ = other.Close() })
	o := (&rig{dialect: sqllog.SQLite, db: other.Writer, readers: other.Reader})
	q := &process{t: t, log: o.open(sqllog.Config{}), at: p.at}
	if !q.bumped() || !p.bumped() {
		t.Error("a process goes on in silence")
	}
	commit(t, o, q.log, org(1))
	q.sync()
	if !p.bumped() {
		t.Error("a process of the replaced file goes on in silence")
	}
}
