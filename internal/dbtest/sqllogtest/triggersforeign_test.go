package sqllogtest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
	"github.com/twofold-go/twofold/key"
)

// Others may create functions and operators in the schema of the outbox. Those that fit an argument
// better than the ones of PostgreSQL would run with the rights of the trigger's owner.
func TestTriggersRunNoForeignCode(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE TABLE users (id varchar(9) PRIMARY KEY, name text)")
	table := triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}, {Tag: "names", Only: []string{"name"}}}}
	l := r.installed(t, table)
	p := &process{t: t, log: l}
	p.sync()
	role := "attacker_" + r.name
	conn, err := r.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	function := func(arguments, result, value string) string {
		return "CREATE FUNCTION public." + arguments + " RETURNS " + result + " LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.caught VALUES (current_user); RETURN " + value + "; END $$"
	}
	for _, s := range []string{
		"CREATE ROLE " + role,
		"GRANT INSERT, UPDATE, SELECT ON users TO " + role,
		"GRANT CREATE, USAGE ON SCHEMA public TO " + role,
		"SET ROLE " + role,
		"CREATE TABLE public.caught (name text); GRANT ALL ON public.caught TO PUBLIC",
		function("to_json(varchar)", "text", `'"x"'`),
		function("format(text, text)", "text", "pg_catalog.format($1, $2)"),
		function("format(text, name)", "text", "pg_catalog.format($1, $2)"),
		function("format(text, text, text)", "text", "pg_catalog.format($1, $2, $3)"),
		function("format(text, text, regclass)", "text", "pg_catalog.format($1, $2, $3)"),
		function("upper(varchar)", "text", "pg_catalog.upper($1)"),
		function("same(varchar, varchar)", "bool", "true"),
		"CREATE OPERATOR public.= (leftarg = varchar, rightarg = varchar, function = public.same)",
		function("same(oid, regclass)", "bool", "$1 = $2::oid"),
		"CREATE OPERATOR public.= (leftarg = oid, rightarg = regclass, function = public.same)",
		function("same(text[], text[])", "bool", "$1 OPERATOR(pg_catalog.=) $2"),
		"CREATE OPERATOR public.= (leftarg = text[], rightarg = text[], function = public.same)",
		"INSERT INTO public.users VALUES ('42', 'a')",
		"UPDATE public.users SET name = 'b'",
		"RESET ROLE",
	} {
		if _, err := conn.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	p.want(key42(t), invalidate.Tag("default", "names"))
	if err := triggers.Install(t.Context(), r.db, r.config(), table); err != nil {
		t.Error(err)
	}
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); err != nil {
		t.Error(err)
	}
	if n := r.count(t, "SELECT count(*) FROM caught"); n != 0 {
		t.Errorf("the attacker's code ran %d times, %d of them with the rights of another role", n, r.count(t, "SELECT count(*) FROM caught WHERE name <> '"+role+"'"))
	}
	r.exec(t, "SELECT to_json('x'::varchar)") // control
	if r.count(t, "SELECT count(*) FROM caught") == 0 {
		t.Error("the attacker's function does not run at all; then this test shows nothing")
	}
}

// The columns that match old and new rows may be of any type, also of one that an extension has put
// into another schema. A key with NULL matches nothing, so each of its rows counts as changed.
func TestTriggersMatchRowsOfAnyType(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE SCHEMA extensions")
	for _, name := range []string{"citext", "ltree", "isn"} {
		if r.count(t, "SELECT count(*) FROM pg_available_extensions WHERE name = '"+name+"'") == 0 {
			t.Skip("this PostgreSQL does not have the extension " + name)
		}
		r.exec(t, "CREATE EXTENSION "+name+" SCHEMA extensions")
	}
	p := &process{t: t, log: r.open(sqllog.Config{})}
	for kind, value := range map[string]string{
		"extensions.ltree": "a.b", "extensions.citext": "A", "extensions.isbn13": "978-0-393-04002-9",
		"numeric": "1.0", "inet": "1.2.3.4", "bytea": `\x00`, "int[]": "{1}", "int4range": "[1,2)", "varchar(5)": "a", "char(5)": "a",
	} {
		r.exec(t, "DROP TABLE IF EXISTS users; CREATE TABLE users (match "+kind+" UNIQUE, id int, name text)")
		table := triggers.Table{Name: "users", Unique: [][]string{{"match"}}, Rows: []triggers.Row{{Key: "users:v1", Column: "id", Only: []string{"name"}}}}
		if err := triggers.Install(t.Context(), r.db, r.config(), table); err != nil {
			t.Fatal(err)
		}
		r.exec(t, "INSERT INTO users VALUES ($1::text::"+kind+", 42, 'a')", value)
		p.sync()
		for _, write := range []struct {
			query string
			want  []invalidate.Scope
		}{
			{"UPDATE users SET name = 'b'", []invalidate.Scope{key42(t)}},
			{"UPDATE users SET name = 'b'", nil},
			{"UPDATE users SET match = NULL", []invalidate.Scope{key42(t)}},
			{"UPDATE users SET name = 'b'", []invalidate.Scope{key42(t)}},
		} {
			if _, err := r.db.ExecContext(t.Context(), write.query); err != nil {
				t.Errorf("with a key of type %s, %s = %v", kind, write.query, err)
				continue
			}
			p.want(write.want...)
		}
	}
}

// A subscription of logical replication fires no triggers of statements, except for TRUNCATE. Its
// rows invalidate by a trigger for each row.
func TestTriggersOfSubscription(t *testing.T) {
	t.Parallel()
	r := postgresRig(t, "wal_level=logical")
	r.exec(t, "CREATE TABLE users (id int PRIMARY KEY, name text, age int) PARTITION BY RANGE (id)")
	r.exec(t, "CREATE TABLE users_0 PARTITION OF users DEFAULT")
	table := triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}, {Tag: "name:", Column: "name", Only: []string{"name"}}}}
	p := &process{t: t, log: r.installed(t, table)}
	p.sync()
	name, publisher := r.postgres.Database(t)
	publish := func(query string) {
		if _, err := publisher.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	publish("CREATE TABLE users (id int PRIMARY KEY, name text, age int); ALTER TABLE users REPLICA IDENTITY FULL")
	publish("CREATE PUBLICATION p FOR TABLE users")
	publish("SELECT pg_create_logical_replication_slot('s', 'pgoutput')") // else CREATE SUBSCRIPTION waits for itself on one server
	r.exec(t, fmt.Sprintf("CREATE SUBSCRIPTION s CONNECTION 'host=127.0.0.1 port=%d user=postgres dbname=%s' PUBLICATION p WITH (create_slot = false, copy_data = false)", r.postgres.Port(), name))
	arrives := func(query, condition string) {
		publish(query)
		for r.count(t, "SELECT count(*) FROM (SELECT pg_sleep(0.01)) s WHERE "+condition) == 0 {
			if t.Context().Err() != nil {
				t.Fatal("the row does not arrive")
			}
		}
	}
	tag := func(name string) invalidate.Scope { return invalidate.Tag("default", "name:"+name) }
	arrives("INSERT INTO users VALUES (42, 'a', 1)", "EXISTS (SELECT FROM users)")
	p.want(key42(t), tag("a"))
	arrives("UPDATE users SET age = 2", "EXISTS (SELECT FROM users WHERE age = 2)")
	p.want(key42(t))
	arrives("UPDATE users SET name = 'b'", "EXISTS (SELECT FROM users WHERE name = 'b')")
	p.want(key42(t), tag("a"), tag("b"))
	arrives("UPDATE users SET id = 7, name = 'c'", "EXISTS (SELECT FROM users WHERE id = 7)")
	p.want(key42(t), keyScope(t, "default", "users:v1", "7"), tag("b"), tag("c"))
	arrives("DELETE FROM users", "NOT EXISTS (SELECT FROM users)")
	p.want(keyScope(t, "default", "users:v1", "7"), tag("c"))
	arrives("INSERT INTO users VALUES (42, 'a', 1)", "EXISTS (SELECT FROM users)")
	p.sync()
	arrives("TRUNCATE users", "NOT EXISTS (SELECT FROM users)")
	p.want(invalidate.Tenant("default"), invalidate.Prefix("default", "users:v1:"))
	for _, disable := range []string{"ALTER TABLE users_0 DISABLE TRIGGER twofold_changed_users_row", "DROP TRIGGER twofold_changed_users_row ON users_0"} {
		r.exec(t, disable)
		if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{table}); !errors.Is(err, triggers.ErrNotInstalled) || !strings.Contains(err.Error(), `table "users_0", trigger "twofold_changed_users_row"`) {
			t.Errorf("after %s: Check = %v", disable, err)
		}
	}
	arrives("INSERT INTO users VALUES (42, 'a', 1)", "EXISTS (SELECT FROM users)")
	p.want() // control: not seen
	r.exec(t, "ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s")
}

// A text that is too long for a key and for a tag names nothing. It must not make a row that is too
// large for the log, which then gives everything up.
func TestTriggersOfLongTexts(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		text := "TEXT"
		if r.dialect == sqllog.MariaDB {
			text = "LONGTEXT COLLATE utf8mb4_bin"
		}
		r.exec(t, fmt.Sprintf("CREATE TABLE users (id %s, org %[1]s, tenant %[1]s)", text))
		tenant := strings.Repeat("t", 40)
		table := triggers.Table{Name: "users", TenantColumn: "tenant", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}, {Tag: "org:", Column: "org"}, {Tag: "a"}}}
		p := &process{t: t, log: r.installed(t, table)}
		p.sync()
		insert := "INSERT INTO users VALUES (?, ?, ?)"
		if r.dialect == sqllog.Postgres {
			insert = "INSERT INTO users VALUES ($1, $2, $3)"
		}
		for _, text := range []string{"\x01", `"`, "x", "é", "<"} { // JSON escapes some
			for _, size := range []int{invalidate.MaxTagLen - len("org:"), (key.MaxLen - len(tenant+":users:v1:")) / 3, key.MaxLen - len(tenant+":users:v1:"), 10_000, 5 << 20} {
				value := strings.Repeat(text, size/len(text))
				want := []invalidate.Scope{invalidate.Tag(tenant, "a")}
				if k, err := (key.Space{Tenant: tenant, Namespace: "users:v1"}).Key(key.Text(value)); err == nil {
					want = append(want, invalidate.Key(k))
				}
				if s := invalidate.Tag(tenant, "org:"+value); s.Validate() == nil {
					want = append(want, s)
				}
				r.exec(t, insert, value, value, tenant)
				p.want(want...)
			}
		}
		if r.dialect == sqllog.Postgres { // a thousand texts in one statement
			r.exec(t, "INSERT INTO users SELECT i || repeat('x', 10000), i, 'acme' FROM generate_series(1, 900) i")
			want := []invalidate.Scope{invalidate.Tag("acme", "a")}
			for i := range 900 {
				want = append(want, invalidate.Tag("acme", fmt.Sprint("org:", i+1)))
			}
			p.want(want...)
		}
	})
}
