package sqllogtest_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
	"github.com/twofold-go/twofold/key"
)

// installed makes the triggers of tables.
func (r *rig) installed(t testing.TB, tables ...triggers.Table) *sqllog.Log {
	t.Helper()
	l := r.open(sqllog.Config{})
	if err := triggers.Install(t.Context(), r.db, r.config(), tables...); err != nil {
		t.Fatal(err)
	}
	if err := triggers.Check(t.Context(), r.db, r.config(), tables); err != nil {
		t.Fatal(err)
	}
	return l
}

func keyScope(t testing.TB, tenant, namespace, id string) invalidate.Scope {
	t.Helper()
	k, err := key.Space{Tenant: tenant, Namespace: namespace}.Key(id)
	if err != nil {
		t.Fatal(err)
	}
	return invalidate.Key(k)
}

// One statement of many rows is one short row in PostgreSQL. Elsewhere each changed row is one.
func TestTriggersOfManyRows(t *testing.T) {
	t.Parallel()
	many, ten := 100_000, "ten a, ten b, ten c, ten d, ten e"
	if race.Enabled { // SQLite is Go code, which the detector slows down
		many, ten = 10_000, "ten a, ten b, ten c, ten d"
	}
	eachDatabase(t, func(t *testing.T, r *rig) {
		text := map[sqllog.Dialect]string{sqllog.Postgres: "text", sqllog.SQLite: "TEXT", sqllog.MariaDB: "VARCHAR(20) COLLATE utf8mb4_bin"}[r.dialect]
		r.exec(t, "CREATE TABLE users (id BIGINT PRIMARY KEY, org INT, name "+text+")")
		values := strings.Repeat(", (0)", 9)
		for _, s := range []string{"CREATE TABLE ten (n INT)", "INSERT INTO ten VALUES (0)" + values} {
			r.exec(t, s)
		}
		r.exec(t, "INSERT INTO users (id, org, name) SELECT ROW_NUMBER() OVER (), 7, 'a' FROM "+ten)
		l := r.installed(t, triggers.Table{Name: "users", Unique: [][]string{{"id"}}, Rows: []triggers.Row{
			{Key: "users:v1", Column: "id"}, {Tag: "org:", Column: "org"}, {Tag: "users"}, {Tag: "names", Only: []string{"name"}},
		}})
		p := &process{t: t, log: l}
		p.sync()
		began := time.Now()
		r.exec(t, "UPDATE users SET name = 'b'")
		took := time.Since(began)
		rows := r.count(t, "SELECT count(*) FROM twofold_outbox")
		began = time.Now()
		keys, scopes := p.sync()
		t.Logf("%d rows: UPDATE %v, %d rows in the outbox, read and numbered in %v", many, took, rows, time.Since(began))
		var fences []invalidate.Fence
		for _, rec := range append(keys, scopes...) {
			if rec.Damaged || rec.Bump {
				t.Fatalf("record %+v", rec)
			}
			fences = append(fences, rec.Fences...)
		}
		covered := map[invalidate.Fence]bool{}
		for _, f := range fences {
			covered[f] = true
		}
		all := covered[invalidate.Fence{Scope: invalidate.Prefix("default", "users:v1:")}]
		for id := 1; id <= many && !all; id += 997 {
			if !covered[invalidate.Fence{Scope: keyScope(t, "default", "users:v1", fmt.Sprint(id))}] {
				t.Fatalf("key %d is not covered", id)
			}
		}
		if !covered[invalidate.Fence{Scope: invalidate.Tag("default", "users")}] || !covered[invalidate.Fence{Scope: invalidate.Tag("default", "names")}] {
			t.Error("a tag is not covered")
		}
		if r.dialect == sqllog.Postgres && (rows != 1 || len(fences) > 10 || !covered[invalidate.Fence{Scope: invalidate.Tenant("default")}]) {
			t.Errorf("%d rows with %d fences, want one with few", rows, len(fences))
		}
	})
}

// A statement with 1,000 scopes names each. One with more names namespaces and tenants.
func TestTriggersCollapse(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id int, tenant text)")
	p := &process{t: t, log: r.installed(t, triggers.Table{Name: "users", TenantColumn: "tenant", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}})}
	p.sync()
	r.exec(t, "INSERT INTO users SELECT n, 'acme' FROM generate_series(1, 1000) n")
	if keys, scopes := p.sync(); len(scopes) != 0 || len(keys) == 0 || len(keys[0].Fences) != 1000 {
		t.Errorf("1,000 rows: %d records of keys, %d of scopes; want 1,000 keys", len(keys), len(scopes))
	}
	r.exec(t, "INSERT INTO users SELECT n, CASE WHEN n < 9 THEN 'globex' ELSE 'acme' END FROM generate_series(1, 1001) n")
	p.want(invalidate.Prefix("acme", "users:v1:"), invalidate.Prefix("globex", "users:v1:"))
	r.exec(t, "INSERT INTO users SELECT n, 't' || n FROM generate_series(1, 1001) n")
	p.want(invalidate.All())
	r.exec(t, "TRUNCATE users")
	p.want(invalidate.All())
}

// A statement that changes no row writes nothing, and neither does an UPDATE beside Only.
func TestTriggersOfNothing(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		text := map[sqllog.Dialect]string{sqllog.Postgres: "text", sqllog.SQLite: "TEXT COLLATE NOCASE", sqllog.MariaDB: "VARCHAR(20)"}[r.dialect]
		r.exec(t, "CREATE TABLE users (id INT PRIMARY KEY, name "+text+", other INT)")
		p := &process{t: t, log: r.installed(t, triggers.Table{Name: "users", Unique: [][]string{{"id"}}, Rows: []triggers.Row{{Tag: "names", Only: []string{"name"}}}})}
		r.exec(t, "INSERT INTO users VALUES (1, 'a', 1)")
		p.sync()
		r.exec(t, "UPDATE users SET name = 'x' WHERE id = 7")
		r.exec(t, "DELETE FROM users WHERE id = 7")
		r.exec(t, "UPDATE users SET other = 2")
		if n := r.count(t, "SELECT count(*) FROM twofold_outbox"); n != 0 {
			t.Errorf("%d rows in the outbox, want none", n)
		}
		names := invalidate.Tag("default", "names")
		r.exec(t, "UPDATE users SET name = 'A'") // also where the collation says that it is the same
		p.want(names)
		r.exec(t, "UPDATE users SET name = NULL")
		p.want(names)
	})
}

// A writer needs no right on the outbox, and cannot use the function for other tables.
func TestTriggersWithoutRights(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id int PRIMARY KEY)")
	table := triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
	l := r.installed(t, table)
	p := &process{t: t, log: l}
	p.sync()
	role := "writer_" + r.name
	r.exec(t, "CREATE ROLE "+role)
	r.exec(t, "GRANT INSERT, SELECT ON users TO "+role)
	r.exec(t, "GRANT CREATE, USAGE ON SCHEMA public TO "+role)
	conn, err := r.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	run := func(query string) error { _, err := conn.ExecContext(t.Context(), query); return err }
	for _, s := range []string{
		"SET ROLE " + role,
		"CREATE TEMP TABLE twofold_outbox (id int, ns text, scopes text)", // neither this nor a search_path may lead the row astray
		"CREATE TEMP TABLE twofold_new (id int)",
		"SET search_path = pg_temp, public",
		"SET standard_conforming_strings = off",
		"INSERT INTO public.users VALUES (42)",
	} {
		if err := run(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	p.want(key42(t))
	if err := run("INSERT INTO public.twofold_outbox (scopes) VALUES ('x')"); err == nil {
		t.Error("the writer may write to the outbox; then this test shows nothing")
	}
	if err := errors.Join(run("CREATE TABLE mine (id int)"), run("CREATE TRIGGER x AFTER INSERT ON mine REFERENCING NEW TABLE AS twofold_new EXECUTE FUNCTION public.twofold_changed_users()")); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("a trigger of a writer with the function: %v, want permission denied", err)
	}
	if err := run("RESET ROLE"); err != nil {
		t.Fatal(err)
	}
	r.exec(t, "ALTER FUNCTION twofold_changed_users() OWNER TO "+role)
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), "GRANT INSERT") {
		t.Errorf("Check = %v, want the missing right", err)
	}
	r.exec(t, "ALTER FUNCTION twofold_changed_users() RESET ALL")
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), "schema of the outbox") {
		t.Errorf("Check = %v, want the missing setting", err)
	}
}

// Triggers also fire in a session whose session_replication_role is replica, and Check notices
// when they would not.
func TestTriggersEnabledAlways(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id int PRIMARY KEY)")
	table := triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
	l := r.installed(t, table)
	p := &process{t: t, log: l}
	p.sync()
	write := func(id int) {
		r.exec(t, fmt.Sprintf("BEGIN; SET LOCAL session_replication_role = replica; INSERT INTO users VALUES (%d); COMMIT", id))
	}
	write(42)
	p.want(key42(t))
	for _, how := range []string{"DISABLE", "ENABLE", "ENABLE REPLICA"} {
		r.exec(t, "ALTER TABLE users "+how+" TRIGGER twofold_changed_users_insert")
		err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table})
		if !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), `table "users", trigger "twofold_changed_users_insert": disabled`) || !strings.Contains(err.Error(), "ENABLE ALWAYS") {
			t.Errorf("%s: Check = %v", how, err)
		}
	}
	r.exec(t, "ALTER TABLE users ENABLE TRIGGER twofold_changed_users_insert, DISABLE TRIGGER twofold_changed_users_row")
	write(43) // control
	p.want()
	r.exec(t, "ALTER TABLE users ENABLE ALWAYS TRIGGER twofold_changed_users_insert, ENABLE REPLICA TRIGGER twofold_changed_users_row")
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); err != nil {
		t.Error(err)
	}
}

// A new partition has no trigger until the migration runs again. Statements on its parent are seen.
func TestTriggersOfNewPartition(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id int) PARTITION BY RANGE (id)")
	r.exec(t, "CREATE TABLE users_a PARTITION OF users FOR VALUES FROM (0) TO (100) PARTITION BY RANGE (id)")
	table := triggers.Table{Name: "public.users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
	l := r.installed(t, table)
	p := &process{t: t, log: l}
	p.sync()
	r.exec(t, "CREATE TABLE users_aa PARTITION OF users_a FOR VALUES FROM (0) TO (50)")
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), `table "users_aa", triggers "twofold_changed_users_delete", `) || !strings.Contains(err.Error(), "missing, and a new partition needs its own") {
		t.Errorf("Check = %v, want the five triggers of the new partition", err)
	}
	r.exec(t, "INSERT INTO users VALUES (42)")
	p.want(key42(t))
	if err := triggers.Install(t.Context(), r.db, r.config(), table); err != nil {
		t.Fatal(err)
	}
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); err != nil {
		t.Error(err)
	}
	r.exec(t, "DELETE FROM users_aa")
	p.want(key42(t))
}

// A dump brings the triggers, enabled as they were.
func TestTriggersInADump(t *testing.T) {
	t.Parallel()
	s := dbtest.Postgres(t)
	r := onServer(t, s)
	r.exec(t, "CREATE SCHEMA app")
	r.exec(t, `CREATE TABLE app."Us""ers" (id int PRIMARY KEY, name text)`)
	r.exec(t, `INSERT INTO app."Us""ers" VALUES (42, 'a')`)
	table := triggers.Table{Name: `app.Us"ers`, Rows: []triggers.Row{{Key: "users:v1", Column: "id"}, {Tag: "names", Only: []string{"name"}}}}
	r.installed(t, table)
	file := filepath.Join(s.SocketDir(), "dump.sql")
	if err := s.Run("pg_dump", "--dbname="+s.DSN(r.name), "--file="+file); err != nil {
		t.Fatal(err)
	}
	name, db := s.Database(t)
	if err := s.Run("psql", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+s.DSN(name), "--file="+file); err != nil {
		t.Fatal(err)
	}
	c := &rig{dialect: sqllog.Postgres, db: db, postgres: s, name: name}
	l := c.open(sqllog.Config{})
	if err := triggers.Check(t.Context(), db, c.config(), []triggers.Table{table}); err != nil {
		t.Error(err)
	}
	p := &process{t: t, log: l}
	p.sync()
	c.exec(t, `UPDATE app."Us""ers" SET name = 'b'`)
	p.want(key42(t), invalidate.Tag("default", "names"))
}

// Names may be anything that the database takes, and values anything that a column takes.
func TestTriggersOfHostileNames(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		mark, text := `"`, "TEXT"
		if r.dialect == sqllog.MariaDB {
			mark, text = "`", "VARCHAR(600) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
		}
		quote := func(s string) string { return mark + strings.ReplaceAll(s, mark, mark+mark) + mark }
		hostile := []string{
			`a"b`, "a`b", "a'b", `a\`, "a.b", "a;b--", "a{e}{do}", "$twofold_do$", "$twofold_body$;", "/*x*/", "A a", "select", "r", "told", "new", "OLD", "%s%I", "é\t\n", strings.Repeat("x", 63),
		}
		for i, name := range hostile {
			values := []string{`it's "x"\`, "a:b{c}% é", "$twofold$", strings.Repeat("y", 300), ""}
			column, tenant, only := name, hostile[(i+1)%len(hostile)], hostile[(i+2)%len(hostile)]
			if r.dialect == sqllog.MariaDB { // it refuses a space at the end
				name, column, tenant, only = strings.TrimSpace(name), strings.TrimSpace(column), strings.TrimSpace(tenant), strings.TrimSpace(only)
			}
			r.exec(t, "CREATE TABLE "+quote(name)+" ("+quote(column)+" "+text+" NOT NULL PRIMARY KEY, "+quote(tenant)+" "+text+", "+quote(only)+" "+text+")")
			tag := "t'\"\\{e}$x$é" + name
			table := triggers.Table{Schema: schemaOf(r), Name: name, TenantColumn: tenant, Unique: [][]string{{column}}, Rows: []triggers.Row{
				{Key: "ns'\"\\$:v1", Column: column}, {Tag: tag, Only: []string{only}}, {Tag: tag, Columns: []string{column, tenant}},
			}}
			p := &process{t: t, log: r.installed(t, table)}
			p.sync()
			for _, value := range values {
				insert := "INSERT INTO " + quote(name) + " VALUES (?, 'acme', 'a')"
				if r.dialect == sqllog.Postgres {
					insert = strings.Replace(insert, "?", "$1", 1)
				}
				r.exec(t, insert, value)
				want := []invalidate.Scope{invalidate.Tag("acme", tag)}
				if s := invalidate.Tag("acme", tag+value+":acme"); s.Validate() == nil {
					want = append(want, s)
				}
				if value != "" {
					want = append(want, keyScope(t, "acme", "ns'\"\\$:v1", key.Text(value)))
				}
				p.want(want...)
			}
			r.exec(t, "INSERT INTO "+quote(name)+" VALUES ('no tenant', NULL, 'a'), ('bad tenant', 'a:b', 'a'), ('empty', '', NULL)")
			p.want()
		}
	})
}

// schemaOf returns the schema that tables are in, for names that have dots.
func schemaOf(r *rig) string {
	switch r.dialect {
	case sqllog.Postgres:
		return "public"
	case sqllog.MariaDB:
		return r.name
	case sqllog.SQLite:
	}
	return "main"
}

// A Table that does not fit its table is refused before anything is changed.
func TestTriggersRefuse(t *testing.T) {
	t.Parallel()
	type refusal struct {
		make  string
		table triggers.Table
		want  string
	}
	column := func(c string) []triggers.Row { return []triggers.Row{{Key: "users:v1", Column: c}} }
	id := [][]string{{"id"}}
	all := map[sqllog.Dialect][]refusal{
		sqllog.Postgres: {
			{"CREATE TABLE t%d (id numeric PRIMARY KEY)", triggers.Table{Rows: column("id")}, `Rows[0].Column is "id" of type numeric: a key or a tag comes from`},
			{"CREATE TABLE t%d (id timestamptz PRIMARY KEY)", triggers.Table{Rows: column("id")}, "of type timestamp"},
			{"CREATE TABLE t%d (id char(4) PRIMARY KEY)", triggers.Table{Rows: column("id")}, "of type character(4)"},
			{"CREATE TABLE t%d (id int[] PRIMARY KEY)", triggers.Table{Rows: column("id")}, "of type integer[]"},
			{"CREATE COLLATION ci%[1]d (provider = icu, locale = 'und-u-ks-level2', deterministic = false); CREATE TABLE t%[1]d (id text COLLATE ci%[1]d)", triggers.Table{Rows: column("id")}, "its collation"},
			{"CREATE VIEW t%d AS SELECT 1 AS id", triggers.Table{Rows: column("id")}, "a view or a foreign table"},
			{"CREATE TABLE t%d (id int, name text)", triggers.Table{Rows: []triggers.Row{{Tag: "a", Only: []string{"name"}}}, Unique: id}, "Unique[0] has 1 columns, and table"},
		},
		sqllog.SQLite: {
			{"CREATE TABLE t%d (id REAL PRIMARY KEY)", triggers.Table{Rows: column("id")}, `Rows[0].Column is "id" of type REAL: a key or a tag comes from`},
			{"CREATE TABLE t%d (id BLOB PRIMARY KEY)", triggers.Table{Rows: column("id")}, "of type BLOB"},
			{"CREATE TABLE t%d (id TEXT PRIMARY KEY COLLATE NOCASE)", triggers.Table{Rows: column("id")}, "its collation"},
			{"CREATE TABLE t%d (id TEXT PRIMARY KEY COLLATE RTRIM)", triggers.Table{Rows: column("id")}, "its collation"},
			{"CREATE VIEW t%d AS SELECT 1 AS id", triggers.Table{Rows: column("id")}, "a view"},
			{"CREATE TABLE t%d (id INTEGER PRIMARY KEY, mail TEXT UNIQUE)", triggers.Table{Rows: column("id")}, `Unique does not name the unique columns ["mail"]`},
			{"CREATE TABLE t%d (id INTEGER PRIMARY KEY, mail TEXT)", triggers.Table{Rows: column("id"), Unique: [][]string{{"id"}, {"mail"}}}, `Unique[1] is ["mail"]`},
			{"CREATE TABLE t%[1]d (id INTEGER PRIMARY KEY, mail TEXT); CREATE UNIQUE INDEX i%[1]d ON t%[1]d (lower(mail))", triggers.Table{Rows: column("id")}, "on an expression"},
		},
		sqllog.MariaDB: {
			{"CREATE TABLE t%d (id DECIMAL(9,2) PRIMARY KEY)", triggers.Table{Rows: column("id")}, `of type decimal(9,2): a key or a tag comes from`},
			{"CREATE TABLE t%d (id VARBINARY(9) PRIMARY KEY)", triggers.Table{Rows: column("id")}, "of type varbinary(9)"},
			{"CREATE TABLE t%d (id INT ZEROFILL PRIMARY KEY)", triggers.Table{Rows: column("id")}, "ZEROFILL"},
			{"CREATE TABLE t%d (id VARCHAR(9) PRIMARY KEY) COLLATE utf8mb4_general_ci", triggers.Table{Rows: column("id")}, "its collation"},
			{"CREATE TABLE t%d (id INT PRIMARY KEY) ENGINE = MyISAM", triggers.Table{Rows: column("id")}, "of engine MyISAM"},
			{"CREATE VIEW t%d AS SELECT 1 AS id", triggers.Table{Rows: column("id")}, "a view"},
			{"CREATE TABLE t%d (id INT PRIMARY KEY, org INT, FOREIGN KEY (org) REFERENCES orgs (id) ON DELETE SET NULL)", triggers.Table{Rows: column("id")}, "Cascades is false, and foreign key"},
		},
	}
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.exec(t, "CREATE TABLE orgs (id INT PRIMARY KEY)")
		list := append(all[r.dialect],
			refusal{"CREATE TABLE t%d (id INT PRIMARY KEY)", triggers.Table{Rows: column("Id")}, `Rows[0].Column is "Id", and table`},
			refusal{"CREATE TABLE t%d (id INT PRIMARY KEY)", triggers.Table{Rows: column("id"), TenantColumn: "tenant"}, `TenantColumn is "tenant", and table`},
			refusal{"CREATE TABLE other%d (id INT PRIMARY KEY)", triggers.Table{Rows: column("id")}, "the database has no such table"})
		good := triggers.Table{Name: "orgs", Rows: column("id")}
		for i, tt := range list {
			query := strings.ReplaceAll(tt.make, "%d", fmt.Sprint(i))
			r.exec(t, strings.ReplaceAll(query, "%[1]d", fmt.Sprint(i)))
			tt.table.Name = fmt.Sprintf("t%d", i)
			for call, err := range map[string]error{
				"Check":   triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{good, tt.table}),
				"Install": triggers.Install(t.Context(), r.db, r.config(), good, tt.table),
			} {
				if !errors.Is(err, triggers.ErrTable) || !strings.Contains(err.Error(), "tables[1].") || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %s = %v, want ErrTable with %q", query, call, err, tt.want)
				}
			}
		}
		if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{good}); !errors.Is(err, triggers.ErrNotInstalled) {
			t.Errorf("Check of the other table = %v; a refused call has changed something", err)
		}
	})
}

// A UUID is its text in lower case, and a domain is what it stands for.
func TestTriggersOfOtherTypes(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE DOMAIN short AS text; CREATE DOMAIN shorter AS short; CREATE TABLE users (id uuid, word shorter, small smallint, var varchar(9))")
	p := &process{t: t, log: r.installed(t, triggers.Table{Name: "users", Tenant: "acme", Rows: []triggers.Row{
		{Key: "users", Column: "id"}, {Key: "words", Column: "word"}, {Key: "small", Column: "small"}, {Tag: "all:", Columns: []string{"var", "id"}},
	}})}
	p.sync()
	const id = "0123abcd-0000-4000-8000-0123456789ab"
	r.exec(t, "INSERT INTO users VALUES ('"+strings.ToUpper(id)+"', 'a b', 7, 'v')")
	p.want(keyScope(t, "acme", "users", id), keyScope(t, "acme", "words", key.Text("a b")), keyScope(t, "acme", "small", "7"), invalidate.Tag("acme", "all:v:"+id))
}

// Triggers write to the tables and the namespace of the log.
func TestTriggersOfOtherTables(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		cfg := sqllog.Config{Dialect: r.dialect, Namespace: "n", Tables: sqllog.Tables{Outbox: "o", Log: "l", Meta: "m"}}
		if r.dialect == sqllog.Postgres {
			r.exec(t, "CREATE SCHEMA hidden")
			cfg.Tables.Schema = "hidden"
		}
		l := r.open(cfg)
		r.exec(t, "CREATE TABLE users (id INT PRIMARY KEY)")
		table := triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
		for _, err := range []error{l.Install(t.Context()), triggers.Install(t.Context(), r.db, cfg, table), triggers.Check(t.Context(), r.db, cfg, []triggers.Table{table})} {
			if err != nil {
				t.Fatal(err)
			}
		}
		p := &process{t: t, log: l}
		p.sync()
		r.exec(t, "INSERT INTO users VALUES (42)")
		p.want(key42(t))
		if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); !errors.Is(err, triggers.ErrNotInstalled) {
			t.Errorf("Check of another log = %v, want ErrNotInstalled", err)
		}
	})
}

// The table does not change when the outbox is missing: there is no write without its invalidation.
func TestTriggersWithoutOutbox(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.exec(t, "CREATE TABLE users (id INT PRIMARY KEY)")
		r.installed(t, triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}})
		r.exec(t, "DROP TABLE twofold_outbox")
		if _, err := r.db.ExecContext(t.Context(), "INSERT INTO users VALUES (42)"); err == nil {
			t.Error("the write succeeded, want an error")
		}
		if n := r.count(t, "SELECT count(*) FROM users"); n != 0 {
			t.Errorf("%d rows, want none", n)
		}
	})
}

// SQLite columns may hold any type. What has no spelling is covered by more.
func TestTriggersOfOddValues(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	r.exec(t, "CREATE TABLE users (id TEXT, tenant TEXT, org INTEGER)")
	p := &process{t: t, log: r.installed(t, triggers.Table{Name: "users", TenantColumn: "tenant", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}, {Tag: "org:", Column: "org"}}})}
	p.sync()
	r.exec(t, "INSERT INTO users VALUES (x'00ff', 'acme', 1.5)")
	p.want(invalidate.Prefix("acme", "users:v1:"), invalidate.Tenant("acme"))
	r.exec(t, "INSERT INTO users VALUES ('a' || char(0) || 'b', 'acme', '7')")
	p.want(keyScope(t, "acme", "users:v1", key.Text("a\x00b")), invalidate.Tag("acme", "org:7"))
	r.exec(t, "INSERT INTO users VALUES ('a', x'00', 7)")
	p.want(invalidate.All())
	r.exec(t, "INSERT INTO users VALUES (json('[1]'), 'acme', NULL)")
	p.want(keyScope(t, "acme", "users:v1", key.Text("[1]")))
}

// Processes that start together may all install the triggers.
func TestInstallTriggersTogether(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id int)")
	table := triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}}
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			if err := triggers.Install(t.Context(), r.db, r.config(), table); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); err != nil {
		t.Error(err)
	}
}
