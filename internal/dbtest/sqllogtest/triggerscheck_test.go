package sqllogtest_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

func usersByID() triggers.Table {
	return triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
}

// Check compares the Rows with the caches that they are for.
func TestCheckCaches(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	r.exec(t, "CREATE TABLE users (id INTEGER PRIMARY KEY)")
	r.installed(t, usersByID())
	tiers, _ := r.openTiers(t)
	users, ids, structs := newCache[int](t, tiers, "users:v1"), newCache[uuid](t, tiers, "ids:v1"), newCache[struct{ N int }](t, tiers, "structs:v1")
	table := usersByID()
	table.Rows = append(table.Rows, triggers.Row{Key: "ids", Column: "id"}, triggers.Row{Key: "structs:v1", Column: "id"}, triggers.Row{Tag: "users"})
	for name, tt := range map[string]struct {
		cache triggers.Cache
		want  string
	}{
		"another namespace": {ids, `caches[0] is of namespace "ids:v1", and no Row has it as its Key; the Keys are ["users:v1" "ids" "structs:v1"]: set Key to the cache's Namespace()`},
		"hashed keys":       {structs, `caches[0] is of namespace "structs:v1", and its keys are hashed, which SQL cannot do: use string, integer or UUID keys, or give its values a tag and name it in a Row`},
		"the zero Cache":    {cache.Cache[int, int]{}, `caches[0] is of namespace "", and no Row`},
	} {
		err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}, tt.cache)
		if !errors.Is(err, triggers.ErrTable) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Check = %v, want ErrTable with %q", name, err, tt.want)
		}
	}
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{usersByID()}, users, users.Tenant("acme")); err != nil {
		t.Errorf("Check = %v", err)
	}
}

// Triggers need the outbox: without it each write of the table would fail.
func TestCheckWithoutOutbox(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.exec(t, "CREATE TABLE users (id INT PRIMARY KEY)")
		r.installed(t, usersByID())
		cfg := r.config()
		if r.dialect == sqllog.Postgres {
			r.exec(t, "CREATE SCHEMA hidden; ALTER TABLE twofold_outbox SET SCHEMA hidden")
		} else {
			cfg.Tables.Outbox = "hidden"
		}
		for call, err := range map[string]error{
			"Check":   triggers.Check(t.Context(), r.db, cfg, []triggers.Table{usersByID()}),
			"Install": triggers.Install(t.Context(), r.db, cfg, usersByID()),
		} {
			for _, want := range []string{`the outbox "`, "is not there", "sqllog.Migrations", "Tables"} {
				if !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), want) {
					t.Errorf("%s = %v, want ErrNotInstalled with %q", call, err, want)
				}
			}
		}
	})
}

// A trigger of MariaDB looks for an outbox without a schema in that of the table, and not in that of
// the session.
func TestTriggersOfAnotherSchema(t *testing.T) {
	t.Parallel()
	r := sharedMariaDB(t)
	other := r.name + "_other"
	r.exec(t, "CREATE DATABASE "+other)
	r.exec(t, "CREATE TABLE "+other+".users (id INT PRIMARY KEY)")
	table := usersByID()
	table.Schema = other
	for call, err := range map[string]error{
		"Check":   triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}),
		"Install": triggers.Install(t.Context(), r.db, r.config(), table),
	} {
		want := fmt.Sprintf("Schema is %q and the outbox is in %q: a trigger of MariaDB looks for it in the schema of its table; set Tables.Schema of the sqllog.Config", other, r.name)
		if !errors.Is(err, triggers.ErrTable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s = %v, want ErrTable with %q", call, err, want)
		}
	}
	cfg := r.config()
	cfg.Tables.Schema = r.name
	if err := triggers.Install(t.Context(), r.db, cfg, table); err != nil {
		t.Fatal(err)
	}
	p := &process{t: t, log: r.open(sqllog.Config{})}
	p.sync()
	r.exec(t, "INSERT INTO "+other+".users VALUES (42)")
	p.want(key42(t))
}

// MariaDB opens the outbox a second time for a session that has locked the table alone.
func TestTriggersUnderLockTables(t *testing.T) {
	t.Parallel()
	r := sharedMariaDB(t)
	r.exec(t, "CREATE TABLE users (id INT PRIMARY KEY)")
	p := &process{t: t, log: r.installed(t, usersByID())}
	p.sync()
	w := &watched{rig: r}
	conn := w.connect(t)
	for _, tables := range []string{"users WRITE", "users WRITE, twofold_outbox WRITE"} {
		if _, err := conn.ExecContext(t.Context(), "LOCK TABLES "+tables); err != nil {
			t.Fatal(err)
		}
		_, err := conn.ExecContext(t.Context(), "INSERT INTO users VALUES (42)")
		if alone := !strings.Contains(tables, "outbox"); (err != nil) != alone || alone && !strings.Contains(err.Error(), "1442") {
			t.Errorf("with LOCK TABLES %s: the write: %v", tables, err)
		}
		if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Fatal(err)
		}
	}
	p.want(key42(t))
}

// A trigger whose definer was dropped fails each write of its table.
func TestCheckDefiner(t *testing.T) {
	t.Parallel()
	r := sharedMariaDB(t)
	r.exec(t, "CREATE TABLE users (id INT PRIMARY KEY)")
	maker, reader := r.name[len(r.name)-8:]+"m", r.name[len(r.name)-8:]+"r"
	as := func(user, rights string) *sqlDB {
		r.exec(t, "CREATE USER '"+user+"'@'%'")
		r.exec(t, "GRANT "+rights+" ON `"+r.name+"`.* TO '"+user+"'@'%'")
		cfg, err := mysql.ParseDSN(r.mariadb.DSN(r.name))
		if err != nil {
			t.Fatal(err)
		}
		cfg.User = user
		return openAs(t, "mysql", cfg.FormatDSN())
	}
	db, readers := as(maker, "ALL"), as(reader, "SELECT, TRIGGER")
	if err := triggers.Install(t.Context(), db, r.config(), usersByID()); err != nil {
		t.Fatal(err)
	}
	check := func(db *sqlDB) error {
		return triggers.Check(t.Context(), db, r.config(), []triggers.Table{usersByID()})
	}
	for _, db := range []*sqlDB{r.db, db, readers} { // readers may not read the users of the server
		if err := check(db); err != nil {
			t.Errorf("Check = %v", err)
		}
	}
	r.exec(t, "DROP USER '"+maker+"'@'%'")
	if _, err := r.db.ExecContext(t.Context(), "INSERT INTO users VALUES (42)"); err == nil || !strings.Contains(err.Error(), "1449") {
		t.Errorf("the write: %v, want that the definer is missing", err)
	}
	if err := check(r.db); !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), `the user "`+maker+`@%" that made it was dropped`) {
		t.Errorf("Check = %v, want ErrNotInstalled with the definer", err)
	}
	if err := triggers.Install(t.Context(), r.db, r.config(), usersByID()); err != nil {
		t.Fatal(err)
	}
	if err := check(r.db); err != nil {
		t.Errorf("Check = %v", err)
	}
}

// What several triggers of a table lack is one line, which speaks of partitions only where one is.
func TestCheckGroups(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.exec(t, "CREATE TABLE users (id INT PRIMARY KEY)")
		err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{usersByID()})
		if !errors.Is(err, triggers.ErrNotInstalled) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "partition") ||
			!strings.Contains(err.Error(), `table "users", triggers "twofold_changed_users_`) || !strings.Contains(err.Error(), "missing: apply the migration with the text of SQL") {
			t.Errorf("Check = %v, want one line about all triggers", err)
		}
	})
}

// An update that replaces a row of the same NULL key names that row.
func TestTriggersOfNullKeys(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	r.exec(t, "CREATE TABLE users (id TEXT PRIMARY KEY, mail TEXT UNIQUE, org INTEGER)")
	l := r.installed(t, triggers.Table{Name: "users", Unique: [][]string{{"id"}, {"mail"}}, Rows: []triggers.Row{{Tag: "org:", Column: "org"}}})
	r.exec(t, "INSERT INTO users VALUES (NULL, 'a', 1), (NULL, 'b', 2)")
	p := &process{t: t, log: l}
	p.sync()
	r.exec(t, "UPDATE OR REPLACE users SET mail = 'b' WHERE org = 1")
	if n := r.count(t, "SELECT count(*) FROM users"); n != 1 {
		t.Fatalf("%d rows, want one", n)
	}
	keys, scopes := p.sync()
	for _, want := range []invalidate.Scope{org(1), org(2)} {
		if !covered(append(keys, scopes...), want) {
			t.Errorf("%v is not covered", want)
		}
	}
}

func covered(records []invalidate.Record, s invalidate.Scope) bool {
	for _, rec := range records {
		for _, f := range rec.Fences {
			if covers(f, s) {
				return true
			}
		}
	}
	return false
}

// Watch logs each change of what Check says, once.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := sqliteRig(t)
		r.exec(t, "CREATE TABLE users (id INTEGER PRIMARY KEY)")
		r.installed(t, usersByID())
		out := &logged{}
		cfg := r.config()
		cfg.Logger = slog.New(slog.NewTextHandler(out, nil))
		go triggers.Watch(t.Context(), 0, r.db, cfg, []triggers.Table{usersByID()})
		for _, step := range []struct {
			statement    string
			warns, infos int
			text         string // of the last line of its level
		}{
			{"SELECT 1", 0, 0, ""},
			{"DROP TRIGGER twofold_changed_users_insert", 1, 0, "twofold_changed_users_insert"},
			{"SELECT 1", 1, 0, "insert"},
			{"DROP TRIGGER twofold_changed_users_delete", 2, 0, "twofold_changed_users_delete"},
			{"", 2, 1, "tables invalidate themselves again"},
			{"SELECT 1", 2, 1, "again"},
			{"ALTER TABLE users RENAME TO people", 3, 1, "has no such table"},
		} {
			if step.statement == "" {
				r.installed(t, usersByID())
			} else {
				r.exec(t, step.statement)
			}
			<-time.After(3 * triggers.DefaultInterval)
			warns, infos := out.lines(slog.LevelWarn), out.lines(slog.LevelInfo)
			last := strings.Join(warns[max(0, len(warns)-1):], "")
			if step.infos > 0 && step.warns < 3 {
				last = infos[len(infos)-1]
			}
			if len(warns) != step.warns || len(infos) != step.infos || !strings.Contains(last, step.text) {
				t.Fatalf("after %q: warnings %q and %q, want %d and %d, the last with %q", step.statement, warns, infos, step.warns, step.infos, step.text)
			}
		}
		if err := r.db.Close(); err != nil {
			t.Fatal(err)
		}
		<-time.After(3 * triggers.DefaultInterval)
		if warns := out.lines(slog.LevelWarn); len(warns) != 4 || !strings.Contains(warns[3], "could not be checked") {
			t.Errorf("without the database: warnings %q, want one more", warns)
		}
	})
}
