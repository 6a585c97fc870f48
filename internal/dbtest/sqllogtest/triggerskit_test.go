package sqllogtest_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
	"github.com/twofold-go/twofold/key"
)

// watched is a database with a table that invalidates itself, and a client that writes to it without
// the library.
type watched struct {
	*rig
	table  triggers.Table
	follow *process
	client *sql.Conn
	ops    []func(rng *rand.Rand) []statement
}

// statement is SQL with placeholders $1, $2, … in their order.
type statement struct {
	query string
	args  []any
	copy  [][]any // rows for COPY, in place of the query
}

func usersTable() triggers.Table {
	return triggers.Table{Name: "users", Unique: [][]string{{"id"}}, Rows: []triggers.Row{
		{Key: "users:v1", Column: "id"},
		{Key: "mails:v1", Column: "email"},
		{Tag: "org:", Column: "org"},
		{Tag: "users"},
		{Tag: "directory", Only: []string{"name"}},
		{Tag: "seat:", Columns: []string{"org", "name"}, Only: []string{"email"}},
	}}
}

// watch makes the tables, and lets them invalidate themselves.
func watch(t testing.TB, r *rig, partitioned bool) *watched {
	t.Helper()
	w := &watched{rig: r, table: usersTable()}
	switch {
	case r.dialect == sqllog.MariaDB:
		r.exec(t, "CREATE TABLE users (id BIGINT PRIMARY KEY, email VARCHAR(50) UNIQUE, org INT, name VARCHAR(50), note VARCHAR(50)) CHARSET utf8mb4 COLLATE utf8mb4_bin")
		w.table.Unique = [][]string{{"id"}, {"email"}}
	case partitioned:
		r.exec(t, "CREATE TABLE users (id bigint, email text, org int NOT NULL, name text, note text, PRIMARY KEY (id, org)) PARTITION BY RANGE (org)")
		for i, to := range []string{"2", "4", "MAXVALUE"} {
			r.exec(t, fmt.Sprintf("CREATE TABLE users_%d PARTITION OF users FOR VALUES FROM (%s) TO (%s)", i, []string{"MINVALUE", "2", "4"}[i], to))
		}
		w.table.Unique = [][]string{{"id", "org"}}
	default:
		r.exec(t, "CREATE TABLE orgs (id int PRIMARY KEY)")
		r.exec(t, "CREATE TABLE users (id bigint PRIMARY KEY, email text UNIQUE, org int REFERENCES orgs (id) ON DELETE CASCADE ON UPDATE CASCADE, name text, note text)")
		r.exec(t, "INSERT INTO orgs VALUES (0), (1), (2), (3), (4), (5)")
		w.table.Unique = [][]string{{"id"}, {"email"}}
	}
	if err := triggers.Install(t.Context(), r.db, r.config(), w.table); err != nil {
		t.Fatal(err)
	}
	if err := triggers.Check(t.Context(), r.db, r.config(), []triggers.Table{w.table}); err != nil {
		t.Fatal(err)
	}
	w.follow = r.process(t, sqllog.Config{})
	w.client = w.connect(t)
	w.ops = w.operations(partitioned)
	return w
}

// connect returns a connection as an outside client has it. In SQLite it does not trust the schema, as that
// of a shell that was built as SQLite recommends.
func (w *watched) connect(t testing.TB) *sql.Conn {
	t.Helper()
	db := w.db
	if w.dialect == sqllog.SQLite {
		var path string
		if err := w.db.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list").Scan(&path); err != nil {
			t.Fatal(err)
		}
		db = openAs(t, "sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)")
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

var words = []string{"a", "A", "b", "a:b", "{x}", "100%", "é", `"q"`, "it's", `back\slash`, "two words", "<&>", "\x01", ""}

func word(rng *rand.Rand) string { return words[rng.IntN(len(words))] }

// operations returns what the client may do.
func (w *watched) operations(partitioned bool) (ops []func(*rand.Rand) []statement) {
	add := func(op func(rng *rand.Rand) []statement) { ops = append(ops, op) }
	one := func(query string, args ...any) []statement { return []statement{{query: query, args: args}} }
	id := func(rng *rand.Rand) int64 { return rng.Int64N(12) + 1<<53 } // a float64 would mix them up
	org := func(rng *rand.Rand) int { return rng.IntN(6) }
	mail := func(rng *rand.Rand) any {
		if rng.IntN(4) == 0 {
			return nil
		}
		return word(rng) + strconv.Itoa(rng.IntN(9))
	}
	insert := "INSERT INTO users (id, email, org, name, note) VALUES ($1, $2, $3, $4, 'n')"
	row := func(rng *rand.Rand) []any { return []any{id(rng), mail(rng), org(rng), word(rng)} }
	add(func(rng *rand.Rand) []statement { return one(insert, row(rng)...) })
	add(func(rng *rand.Rand) []statement {
		return one(insert+", ($5, $6, $7, $8, 'm')", append(row(rng), row(rng)...)...)
	})
	add(func(rng *rand.Rand) []statement {
		return one("UPDATE users SET name = $1 WHERE id = $2", word(rng), id(rng))
	})
	add(func(rng *rand.Rand) []statement {
		return one("UPDATE users SET note = $1 WHERE org = $2", word(rng), org(rng))
	})
	add(func(rng *rand.Rand) []statement {
		return one("UPDATE users SET org = $1, email = $2 WHERE id = $3", org(rng), mail(rng), id(rng))
	})
	add(func(rng *rand.Rand) []statement {
		return one("UPDATE users SET id = $1 WHERE id = $2", id(rng), id(rng))
	})
	add(func(rng *rand.Rand) []statement { // a swap, in one statement
		a, b, na, nb := id(rng), id(rng), word(rng), word(rng)
		return one("UPDATE users SET name = CASE id WHEN $1 THEN $2 ELSE $3 END, org = CASE org WHEN 1 THEN 3 WHEN 3 THEN 1 ELSE org END WHERE id IN ($4, $5)", a, na, nb, a, b)
	})
	add(func(rng *rand.Rand) []statement { return one("DELETE FROM users WHERE id = $1", id(rng)) })
	add(func(rng *rand.Rand) []statement {
		return one("DELETE FROM users WHERE org = $1 AND id > $2", org(rng), id(rng))
	})
	if w.dialect != sqllog.Postgres { // REPLACE removes the rows in its way
		add(func(rng *rand.Rand) []statement {
			return one(strings.Replace(insert, "INSERT", "REPLACE", 1), row(rng)...)
		})
		add(func(rng *rand.Rand) []statement {
			return one(strings.Replace(insert, "INSERT", "REPLACE", 1), row(rng)...)
		})
	}
	if w.dialect != sqllog.MariaDB && !partitioned {
		add(func(rng *rand.Rand) []statement {
			return one(insert+" ON CONFLICT (id) DO UPDATE SET name = excluded.name, org = excluded.org, email = excluded.email", row(rng)...)
		})
		add(func(rng *rand.Rand) []statement { // a cascade
			n := org(rng)
			return append(one("DELETE FROM orgs WHERE id = $1", n), one("INSERT INTO orgs VALUES ($1)", n)...)
		})
		add(func(rng *rand.Rand) []statement { // a cascaded update
			n := org(rng)
			return append(one("UPDATE orgs SET id = $1 WHERE id = $2", 100+n, n), one("UPDATE orgs SET id = $1 WHERE id = $2", n, 100+n)...)
		})
		add(func(rng *rand.Rand) []statement {
			return append(one("UPDATE orgs SET id = 99 WHERE id = $1", org(rng)), one("DELETE FROM orgs WHERE id = 99")...)
		})
	}
	switch w.dialect {
	case sqllog.SQLite:
		add(func(rng *rand.Rand) []statement {
			return one("UPDATE OR REPLACE users SET email = $1, id = $2 WHERE id = $3", mail(rng), id(rng), id(rng))
		})
		add(func(rng *rand.Rand) []statement { return one("INSERT OR IGNORE"+insert[6:], row(rng)...) })
		add(func(rng *rand.Rand) []statement { return one("DELETE FROM users") })
	case sqllog.MariaDB:
		add(func(rng *rand.Rand) []statement {
			return one(insert+" ON DUPLICATE KEY UPDATE name = VALUES(name), org = VALUES(org)", row(rng)...)
		})
		add(func(rng *rand.Rand) []statement { return one("INSERT IGNORE"+insert[6:], row(rng)...) })
	case sqllog.Postgres:
		ops = append(ops, w.postgresOperations(partitioned, id, org, mail)...)
	}
	return ops
}

func (w *watched) postgresOperations(partitioned bool, id func(*rand.Rand) int64, org func(*rand.Rand) int, mail func(*rand.Rand) any) (ops []func(*rand.Rand) []statement) {
	add := func(op func(rng *rand.Rand) []statement) { ops = append(ops, op) }
	one := func(query string, args ...any) []statement { return []statement{{query: query, args: args}} }
	add(func(rng *rand.Rand) []statement {
		return one("WITH gone AS (DELETE FROM users WHERE id = $1 RETURNING *) INSERT INTO users (id, email, org, name, note) SELECT id + $2, email, org, name, 'moved' FROM gone", id(rng), rng.IntN(3))
	})
	add(func(rng *rand.Rand) []statement {
		return one(`MERGE INTO users u USING (VALUES ($1::bigint, $2::int, $3::text)) v(id, org, name) ON u.id = v.id AND u.org = v.org
			WHEN MATCHED AND u.name = v.name THEN DELETE WHEN MATCHED THEN UPDATE SET name = v.name WHEN NOT MATCHED THEN INSERT (id, org, name) VALUES (v.id, v.org, v.name)`,
			id(rng), org(rng), word(rng))
	})
	add(func(rng *rand.Rand) []statement {
		return []statement{{copy: [][]any{{id(rng), mail(rng), org(rng), word(rng)}, {id(rng), mail(rng), org(rng), word(rng)}}}}
	})
	add(func(*rand.Rand) []statement { return one("TRUNCATE users") })
	add(func(rng *rand.Rand) []statement { // as tools that restore write
		return append(one("SET LOCAL session_replication_role = replica"), append(one("UPDATE users SET name = $1 WHERE id = $2", word(rng), id(rng)),
			one("SET LOCAL session_replication_role = origin")...)...)
	})
	if partitioned {
		add(func(rng *rand.Rand) []statement {
			part := strconv.Itoa(rng.IntN(3))
			return append(one("UPDATE users_"+part+" SET name = $1", word(rng)), one("DELETE FROM users_"+part+" WHERE id = $1", id(rng))...)
		})
		add(func(rng *rand.Rand) []statement { return one("TRUNCATE users_" + strconv.Itoa(rng.IntN(3))) })
		add(func(rng *rand.Rand) []statement {
			return one("INSERT INTO users_0 (id, org, name) VALUES ($1, 1, $2)", id(rng), word(rng))
		})
	}
	return ops
}

// run runs a statement in the client's transaction.
func (w *watched) run(ctx context.Context, s statement) error {
	if s.copy != nil {
		return w.client.Raw(func(c any) error {
			conn := c.(*stdlib.Conn).Conn() //nolint:forcetypeassert // the driver of PostgreSQL
			_, err := conn.CopyFrom(ctx, pgx.Identifier{"users"}, []string{"id", "email", "org", "name"}, pgx.CopyFromRows(s.copy))
			return err
		})
	}
	query := s.query
	if w.dialect == sqllog.MariaDB {
		for i := range s.args {
			query = strings.Replace(query, "$"+strconv.Itoa(i+1), "?", 1)
		}
	}
	_, err := w.client.ExecContext(ctx, query, s.args...)
	return err
}

// transaction runs a random transaction. It reports whether it was committed. A statement may fail,
// at a duplicate key for example; then the transaction is rolled back.
func (w *watched) transaction(t testing.TB, rng *rand.Rand) (text string, committed bool) {
	t.Helper()
	must := func(query string) {
		if err := w.run(t.Context(), statement{query: query}); err != nil {
			t.Fatal(err)
		}
	}
	must("BEGIN")
	for range 1 + rng.IntN(3) {
		savepoint := rng.IntN(4) == 0
		if savepoint {
			must("SAVEPOINT s")
		}
		for _, s := range w.ops[rng.IntN(len(w.ops))](rng) {
			text += fmt.Sprintf("%s %q %v; ", s.query, s.args, s.copy)
			if err := w.run(t.Context(), s); err != nil {
				must("ROLLBACK")
				return text + err.Error(), false
			}
		}
		if savepoint && rng.IntN(2) == 0 {
			text += "and back; "
			must("ROLLBACK TO SAVEPOINT s")
		}
	}
	if rng.IntN(8) == 0 {
		must("ROLLBACK")
		return text, false
	}
	must("COMMIT")
	return text, true
}

type user struct {
	id               int64
	email, org, name sql.NullString
	note             sql.NullString
}

// read reads the whole table.
func (w *watched) read(t testing.TB) (all []user) {
	t.Helper()
	rows, err := w.db.QueryContext(t.Context(), "SELECT id, email, org, name, note FROM users")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var u user
		if err := rows.Scan(&u.id, &u.email, &u.org, &u.name, &u.note); err != nil {
			t.Fatal(err)
		}
		all = append(all, u)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// contents returns what each scope shows of the table. It says in Go what the triggers.Table says.
func contents(t testing.TB, all []user) map[invalidate.Scope][]string {
	t.Helper()
	shown := map[invalidate.Scope][]string{}
	add := func(s invalidate.Scope, what ...any) {
		if s.Validate() == nil {
			shown[s] = append(shown[s], fmt.Sprintf("%q", what))
		}
	}
	keyed := func(namespace, id string) invalidate.Scope {
		k, err := key.Space{Tenant: "default", Namespace: namespace}.Key(id)
		if err != nil {
			return invalidate.Scope{} // no cache can have it
		}
		return invalidate.Key(k)
	}
	for _, u := range all {
		add(keyed("users:v1", key.Int(u.id)), u)
		if u.email.Valid {
			add(keyed("mails:v1", key.Text(u.email.String)), u)
		}
		if u.org.Valid {
			add(invalidate.Tag("default", "org:"+u.org.String), u)
		}
		add(invalidate.Tag("default", "users"), u)
		add(invalidate.Tag("default", "directory"), u.id, u.name)
		if u.org.Valid && u.name.Valid {
			add(invalidate.Tag("default", "seat:"+u.org.String+":"+u.name.String), u.id, u.email)
		}
	}
	for _, s := range shown {
		slices.Sort(s)
	}
	return shown
}

// missed returns a scope whose content changed and that no fence covers, or "".
func missed(t testing.TB, before, after []user, fences []invalidate.Fence) string {
	t.Helper()
	was, is := contents(t, before), contents(t, after)
	both := maps.Clone(was)
	maps.Copy(both, is)
	for s := range both {
		if !slices.Equal(was[s], is[s]) && !slices.ContainsFunc(fences, func(f invalidate.Fence) bool { return covers(f, s) }) {
			return s.String()
		}
	}
	return ""
}

func covers(f invalidate.Fence, s invalidate.Scope) bool {
	switch f.Scope.Kind() {
	case invalidate.KindAll:
		return true
	case invalidate.KindPrefix:
		if s.Kind() == invalidate.KindKey {
			return strings.HasPrefix(s.Text(), f.Scope.Text())
		}
		return f.Scope == invalidate.Tenant(s.Tenant())
	default:
		return f.Scope == s
	}
}

// check runs random transactions until one is not covered, or all are done, and says which.
func (w *watched) check(t testing.TB, seed uint64, transactions int) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	w.follow.sync()
	before, done := w.read(t), 0
	for range transactions {
		text, committed := w.transaction(t, rng)
		after := w.read(t)
		var fences []invalidate.Fence
		keys, scopes := w.follow.sync()
		for _, rec := range append(keys, scopes...) {
			if rec.Damaged || rec.Bump {
				t.Fatalf("seed %d: record %+v after %s", seed, rec, text)
			}
			fences = append(fences, rec.Fences...)
		}
		if !committed && len(fences) > 0 {
			t.Fatalf("seed %d: rolled back, and yet there are fences %v after %s", seed, fences, text)
		}
		if s := missed(t, before, after, fences); s != "" {
			return fmt.Sprintf("seed %d: %s is not covered by %v after %s", seed, s, fences, text)
		}
		if committed {
			done++
		}
		before = after
	}
	if done < transactions/3 {
		t.Fatalf("seed %d: %d of %d transactions committed, want more", seed, done, transactions)
	}
	return ""
}
