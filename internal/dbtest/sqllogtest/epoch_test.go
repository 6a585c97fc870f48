package sqllogtest_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// After any damage to the tables, the next Sync of a process that knows them starts one epoch,
// above all known positions. The log then works as before.
func TestDamageStartsAnEpoch(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		for _, tc := range []struct{ name, damage string }{
			{"no records", "DELETE FROM twofold_log"},
			{"no notes", "DELETE FROM twofold_meta"},
			{"nothing at all", "DELETE FROM twofold_meta; DELETE FROM twofold_log"},
			{"no keys", "DELETE FROM twofold_log WHERE seq = 1"},
			{"no last scope", "DELETE FROM twofold_log WHERE seq = 2 AND pos = (SELECT max(pos) FROM (SELECT * FROM twofold_log) l WHERE seq = 2)"},
			{"another last key", "UPDATE twofold_log SET id = id + 1 WHERE seq = 1 AND pos = (SELECT max(pos) FROM (SELECT * FROM twofold_log) l WHERE seq = 1)"},
			{"notes put back", "UPDATE twofold_meta SET key_end = key_end - 1"},
			{"notes of another server", "UPDATE twofold_meta SET identity = 'x'"},
			{"notes of another epoch", "UPDATE twofold_meta SET epoch = 7"},
			{"no number is left", "UPDATE twofold_meta SET key_end = key_end + 4294967000"},
		} {
			t.Run(tc.name, func(t *testing.T) {
				r.exec(t, "DELETE FROM twofold_meta")
				r.exec(t, "DELETE FROM twofold_log")
				p := r.process(t, sqllog.Config{})
				commit(t, r, p.log, org(1), key42(t))
				p.sync()
				commit(t, r, p.log, org(2), key42(t))
				before := p.at
				p.sync()
				for q := range strings.SplitSeq(tc.damage, ";") {
					r.exec(t, q)
				}
				other := r.process(t, sqllog.Config{}) // knows nothing, and must not hide the damage
				if !p.bumped() {
					t.Fatal("no epoch was started")
				}
				if p.at.Key.Epoch() <= before.Key.Epoch() || p.at.Key.Epoch() != p.at.Scope.Epoch() {
					t.Errorf("the log continues at %+v after %+v", p.at, before)
				}
				commit(t, r, p.log, org(3))
				p.want(org(3))
				p.want()
				if other.sync(); other.at != p.at {
					t.Errorf("another process ends at %+v, want %+v", other.at, p.at)
				}
			})
		}
	})
}

// NewEpoch starts an epoch in all processes.
func TestNewEpoch(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		for range 2 {
			if err := r.open(sqllog.Config{}).NewEpoch(t.Context()); err != nil {
				t.Fatal(err)
			}
			if !p.bumped() || p.bumped() {
				t.Error("want one new epoch, and one alone")
			}
		}
		if err := r.fresh(sqllog.Config{})().NewEpoch(t.Context()); err != nil {
			t.Errorf("NewEpoch of a log without a record = %v", err)
		}
		far := invalidate.Cursor{Key: invalidate.At(1<<31-1, 1)}
		if _, err := p.log.Sync(t.Context(), far, invalidate.Append{}); !errors.Is(err, sqllog.ErrEpochs) {
			t.Errorf("Sync behind the last epoch = %v, want ErrEpochs", err)
		}
		p.want()
	})
}

// A restart of the server looks like a restored snapshot.
func TestRestart(t *testing.T) {
	t.Parallel()
	r := postgresRig(t)
	p := r.process(t, sqllog.Config{})
	if err := errors.Join(r.postgres.Stop(), r.postgres.Start()); err != nil {
		t.Fatal(err)
	}
	r.reconnect(t)
	if !p.bumped() {
		t.Error("a restart starts no epoch")
	}
	commit(t, r, p.log, org(1)) // transaction ids continue
	p.want(org(1))
}

// A restored copy of the data has lost everything after the copy. Rows that are committed then
// reuse ids and transaction ids.
func TestOldCopyPutBack(t *testing.T) {
	t.Parallel()
	r := postgresRig(t)
	p := r.process(t, sqllog.Config{})
	commit(t, r, p.log, org(1))
	p.sync()
	copied, err := r.postgres.CopyData()
	if err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		commit(t, r, p.log, org(n))
		p.want(org(n))
	}
	if err := r.postgres.RestoreData(copied); err != nil {
		t.Fatal(err)
	}
	r.reconnect(t)
	commit(t, r, p.log, org(9))
	if !p.bumped() {
		t.Error("an old copy was put back, and no epoch started")
	}
	if s := p.log.Stats(); s.Numbered != 7 {
		t.Errorf("Stats = %+v, want all 7 rows numbered", s)
	}
}

// A lagging standby becomes the primary between the stage of a Sync and its numbering. The ids of
// the staged rows then belong to other rows.
func TestPromotionWhileNumbering(t *testing.T) {
	t.Parallel()
	r := postgresRig(t)
	p := r.process(t, sqllog.Config{})
	standby, err := r.postgres.Standby(0)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := standby.Open(r.name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	waitFor(t, pool, "SELECT count(*) FROM twofold_meta")
	if err := standby.Cut(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A proxy switches from one server to the other while cells are removed.
	moved := &moving{primary: r.postgres.DSN(r.name)}
	db := sql.OpenDB(moved.connector(t))
	t.Cleanup(func() { _ = db.Close() })
	l := sqllog.New(db, sqllog.Config{Dialect: sqllog.Postgres})
	var id int
	l.Open(invalidate.Hooks{Tier: "redis", Remove: func(context.Context, []string) error {
		if err := standby.Promote(t.Context()); err != nil {
			t.Error(err)
		}
		moved.to.Store(new(standby.DSN(r.name)))
		if _, err := pool.ExecContext(t.Context(), `INSERT INTO twofold_outbox (id, scopes) OVERRIDING SYSTEM VALUE VALUES ($1, '[["t","default","org:9"]]')`, id); err != nil {
			t.Error(err)
		}
		return nil
	}})
	db.SetMaxIdleConns(0) // each statement uses the proxy's current server
	p.log = l
	commit(t, r, p.log, key42(t)) // on the old primary, where it is lost
	id = r.count(t, "SELECT max(id) FROM twofold_outbox")
	page, err := l.Sync(t.Context(), p.at, invalidate.Append{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Keys) != 1 || !page.Keys[0].Bump || len(page.Scopes) != 2 || page.Scopes[1].Fences[0].Scope != org(9) {
		t.Errorf("after the promotion: keys %+v, scopes %+v; want an epoch and the new row", page.Keys, page.Scopes)
	}
}

// reconnect drops the connections that a restart has broken.
func (r *rig) reconnect(t *testing.T) {
	t.Helper()
	for range 3 { // database/sql tries the pool's connections, then a new one
		_ = r.db.PingContext(t.Context())
	}
	waitFor(t, r.db, "SELECT 1")
}

func waitFor(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	for range 1000 {
		var n int
		if err := db.QueryRowContext(t.Context(), query).Scan(&n); err == nil && n > 0 {
			return
		}
		_ = fault.Sleep(t.Context(), 10*time.Millisecond) // the server is real, so wait in real time
	}
	t.Fatalf("%s found nothing", query)
}

// A trigger undoes a part of each epoch. The log must not start epochs endlessly.
func TestEpochsAreUndone(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		for _, q := range map[sqllog.Dialect][]string{
			sqllog.Postgres: {
				"CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.key_id := 7; RETURN NEW; END'",
				"CREATE TRIGGER undo BEFORE UPDATE ON twofold_meta FOR EACH ROW EXECUTE FUNCTION undo()",
			},
			sqllog.SQLite:  {"CREATE TRIGGER undo AFTER UPDATE OF epoch ON twofold_meta BEGIN UPDATE twofold_meta SET key_id = 7; END"},
			sqllog.MariaDB: {"CREATE TRIGGER undone BEFORE UPDATE ON twofold_meta FOR EACH ROW SET NEW.key_id = 7"},
		}[r.dialect] {
			r.exec(t, q)
		}
		if err := p.log.NewEpoch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := p.log.Sync(t.Context(), p.at, invalidate.Append{}); !errors.Is(err, sqllog.ErrBusy) || !strings.Contains(err.Error(), "epochs") {
			t.Errorf("Sync = %v, want ErrBusy with the reason", err)
		}
	})
}

// The positions of the last epoch are exact, as those of the first one: no statement computes them with
// floating-point numbers.
func TestLastEpochIsExact(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		l := r.fresh(sqllog.Config{})()
		start := invalidate.Position(math.MaxInt32) << 32
		p, err := l.Sync(t.Context(), invalidate.Cursor{Key: start - 1, Scope: start - 1}, invalidate.Append{})
		if err != nil || p.End.Key != start || p.End.Scope != start {
			t.Fatalf("the epoch begins at %d, %d, %v; want %d", p.End.Key, p.End.Scope, err, start)
		}
		fences := []invalidate.Fence{{Scope: invalidate.Tag("default", "a")}}
		for n := range invalidate.Position(3) {
			if p, err = l.Sync(t.Context(), p.End, invalidate.Append{Keys: []invalidate.Fence{{Scope: key42(t)}}, Scopes: fences}); err != nil {
				t.Fatal(err)
			}
			if want := start + n + 1; p.Key != want || p.Scope != want || len(p.Keys) != 1 || len(p.Scopes) != 1 || p.Keys[0].At != want || p.Keys[0].ID != p.End.KeyID {
				t.Errorf("page = %+v, want records at %d", p, want)
			}
		}
	})
}
