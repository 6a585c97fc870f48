package sqllogtest_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// Two tables of one name in two schemas have a function each, although sessions that find them by their
// search_path may create in the same schema first. Otherwise the second one would replace the first one's
// function, and writes of the first table would invalidate for the tenant of the second one.
func TestTriggersOfTwoSchemas(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	tables := map[string]triggers.Table{}
	var l *sqllog.Log
	for _, tenant := range []string{"acme", "globex"} {
		r.exec(t, "CREATE SCHEMA "+tenant+"; CREATE TABLE "+tenant+".users (id int PRIMARY KEY)")
		tables[tenant] = triggers.Table{Name: "users", Tenant: tenant, Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
		l = r.open(sqllog.Config{})
		up, _, err := triggers.SQL(r.config(), tables[tenant])
		if err != nil {
			t.Fatal(err)
		}
		r.exec(t, "BEGIN; SET LOCAL search_path = public, "+tenant+"; "+up+" COMMIT")
	}
	p := &process{t: t, log: l}
	p.sync()
	for _, tenant := range []string{"acme", "globex"} {
		r.exec(t, "INSERT INTO "+tenant+".users VALUES (42)")
		p.want(keyScope(t, tenant, "users:v1", "42"))
		table := tables[tenant]
		table.Schema = tenant
		if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); err != nil {
			t.Error(err)
		}
	}
	_, down, err := triggers.SQL(r.config(), tables["acme"])
	if err != nil {
		t.Fatal(err)
	}
	r.exec(t, "BEGIN; SET LOCAL search_path = public, acme; "+down+" COMMIT")
	r.exec(t, "INSERT INTO acme.users VALUES (43)")
	p.want()
	r.exec(t, "INSERT INTO globex.users VALUES (43)")
	p.want(keyScope(t, "globex", "users:v1", "43"))
}

// A table that moves to another schema leaves its function behind, which a session may find first. What
// undoes the triggers removes those that the next migration made.
func TestTriggersOfMovedTable(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id int PRIMARY KEY)")
	r.installed(t, triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}})
	r.exec(t, "CREATE SCHEMA moved; ALTER TABLE users SET SCHEMA moved")
	up, down, err := triggers.SQL(r.config(), triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.exec(t, "BEGIN; SET LOCAL search_path = public, moved; "+up+down+" COMMIT")
	if n := r.count(t, "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'moved.users'::regclass"); n != 0 {
		t.Errorf("%d triggers are left, want none", n)
	}
	r.exec(t, "DROP TABLE moved.users; "+down) // it also succeeds without the table
}

// A database of another encoding can be checked: what Check asks can be written in each of them.
func TestTriggersInLatin1(t *testing.T) {
	t.Parallel()
	shared := sharedPostgres(t)
	name := shared.name + "_latin1"
	shared.exec(t, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'")
	r := &rig{dialect: sqllog.Postgres, db: openAs(t, "pgx", shared.postgres.DSN(name)+"&client_encoding=UTF8"), postgres: shared.postgres, name: name}
	r.install(t).exec(t, "CREATE TABLE users (id int PRIMARY KEY)")
	table := triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
	r.installed(t, table)
	r.exec(t, "ALTER TABLE users DISABLE TRIGGER twofold_changed_users_row")
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), "ENABLE REPLICA TRIGGER") {
		t.Errorf("Check = %v", err)
	}
}

// Check asks about the table in the file, and not about a temporary one that hides it.
func TestTriggersBehindTemporaryTable(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	r.db.SetMaxOpenConns(1)
	r.exec(t, "CREATE TABLE users (id TEXT COLLATE NOCASE PRIMARY KEY); CREATE TEMP TABLE users (id TEXT PRIMARY KEY)")
	err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}})
	if !errors.Is(err, triggers.ErrTable) || !strings.Contains(err.Error(), `Rows[0].Column is "id" of type TEXT: its collation`) {
		t.Errorf("Check = %v, want the collation of the column", err)
	}
}

// An unlogged table is empty after a crash, and no trigger has seen its rows go.
func TestTriggersRefuseUnlogged(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	for name, c := range map[string]struct{ make, mend string }{
		"alone":       {"CREATE UNLOGGED TABLE alone (id int PRIMARY KEY)", "ALTER TABLE alone SET LOGGED"},
		"partitioned": {"CREATE TABLE partitioned (id int) PARTITION BY RANGE (id); CREATE UNLOGGED TABLE partitioned_1 PARTITION OF partitioned DEFAULT", "ALTER TABLE partitioned_1 SET LOGGED"},
	} {
		r.exec(t, c.make)
		table := triggers.Table{Name: name, Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
		if err := triggers.Install(t.Context(), r.db, r.config(), table); !errors.Is(err, triggers.ErrTable) || !strings.Contains(err.Error(), "unlogged") {
			t.Errorf("%s: Install = %v", name, err)
		}
		r.exec(t, c.mend)
		r.installed(t, table)
	}
}

// Check notices a trigger that fires for the change of some columns only.
func TestTriggersOfSomeColumns(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id int PRIMARY KEY, name text)")
	table := triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
	r.installed(t, table)
	r.exec(t, `DROP TRIGGER twofold_changed_users_row ON users;
		CREATE TRIGGER twofold_changed_users_row AFTER INSERT OR UPDATE OF name OR DELETE ON users FOR EACH ROW EXECUTE FUNCTION twofold_changed_users();
		ALTER TABLE users ENABLE REPLICA TRIGGER twofold_changed_users_row`)
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), "outdated") {
		t.Errorf("Check = %v", err)
	}
}

// What a savepoint takes back is not invalidated, two rows may have one key in
// between, and a renamed table keeps its triggers.
func TestTriggersOfTransactions(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id int PRIMARY KEY DEFERRABLE INITIALLY DEFERRED, org int)")
	p := &process{t: t, log: r.installed(t, triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}, {Tag: "org:", Column: "org"}}})}
	p.sync()
	key := func(id string) invalidate.Scope { return keyScope(t, "default", "users:v1", id) }
	r.exec(t, "BEGIN; INSERT INTO users VALUES (1, 1); SAVEPOINT s; INSERT INTO users VALUES (2, 2); ROLLBACK TO s; INSERT INTO users VALUES (3, 3); COMMIT")
	p.want(key("1"), key("3"), invalidate.Tag("default", "org:1"), invalidate.Tag("default", "org:3"))
	r.exec(t, "BEGIN; UPDATE users SET id = 3 WHERE id = 1; UPDATE users SET id = 1 WHERE org = 3; COMMIT") // twice the same id in between
	p.want(key("1"), key("3"), invalidate.Tag("default", "org:1"), invalidate.Tag("default", "org:3"))
	r.exec(t, "CREATE SCHEMA moved; ALTER TABLE users RENAME TO people; ALTER TABLE people SET SCHEMA moved; UPDATE moved.people SET org = 4 WHERE id = 1")
	p.want(key("1"), invalidate.Tag("default", "org:3"), invalidate.Tag("default", "org:4"))
	r.exec(t, "ALTER TABLE moved.people RENAME org TO unit") // until the migration runs again, a write fails and changes nothing
	if _, err := r.db.ExecContext(t.Context(), "UPDATE moved.people SET unit = 5"); err == nil || r.count(t, "SELECT count(*) FROM moved.people WHERE unit = 5") != 0 {
		t.Errorf("the write: %v", err)
	}
}
