package sqllogtest_test

import (
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// A generated column can be a key, and can be what REPLACE finds other rows by.
func TestTriggersOfGeneratedColumns(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		kinds := map[sqllog.Dialect][]string{
			sqllog.Postgres: {"low text GENERATED ALWAYS AS (lower(name)) STORED UNIQUE"},
			sqllog.SQLite:   {"low TEXT GENERATED ALWAYS AS (lower(name)) STORED UNIQUE", "low TEXT GENERATED ALWAYS AS (lower(name)) VIRTUAL UNIQUE"},
			sqllog.MariaDB: {
				"low VARCHAR(50) GENERATED ALWAYS AS (lower(name)) STORED UNIQUE",
				"low VARCHAR(50) GENERATED ALWAYS AS (lower(name)) VIRTUAL UNIQUE",
			},
		}[r.dialect]
		text := map[sqllog.Dialect]string{sqllog.Postgres: "text", sqllog.SQLite: "TEXT", sqllog.MariaDB: "VARCHAR(50)"}[r.dialect]
		end := map[sqllog.Dialect]string{sqllog.MariaDB: " CHARSET utf8mb4 COLLATE utf8mb4_bin"}[r.dialect]
		for _, kind := range kinds {
			r.exec(t, "CREATE TABLE users (id INT PRIMARY KEY, name "+text+", "+kind+")"+end)
			table := triggers.Table{Name: "users", Unique: [][]string{{"id"}, {"low"}}, Rows: []triggers.Row{
				{Key: "users:v1", Column: "low"}, {Tag: "id:", Column: "id", Only: []string{"low"}},
			}}
			p := &process{t: t, log: r.installed(t, table)}
			p.sync()
			ann, bob := keyScope(t, "default", "users:v1", "ann"), keyScope(t, "default", "users:v1", "bob")
			one, two := invalidate.Tag("default", "id:1"), invalidate.Tag("default", "id:2")
			r.exec(t, "INSERT INTO users (id, name) VALUES (1, 'Ann')")
			p.want(ann, one)
			r.exec(t, "UPDATE users SET name = 'ANN'") // the generated column stays
			p.want(ann)
			r.exec(t, "UPDATE users SET name = 'Bob'")
			p.want(ann, bob, one)
			if r.dialect != sqllog.Postgres {
				r.exec(t, "REPLACE INTO users (id, name) VALUES (2, 'BOB')") // it removes row 1
				p.want(bob, one, two)
			}
			r.exec(t, "DROP TABLE users")
		}
	})
}

// Row security hides rows from a writer, and none of its changes from the triggers.
func TestTriggersUnderRowSecurity(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	role := "secured_" + r.name
	r.exec(t, "CREATE TABLE users (id int PRIMARY KEY, owner text); CREATE ROLE "+role+"; GRANT ALL ON users TO "+role)
	p := &process{t: t, log: r.installed(t, triggers.Table{Name: "users", Rows: []triggers.Row{{Key: "users:v1", Column: "id"}}})}
	p.sync()
	r.exec(t, `ALTER TABLE users ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
		CREATE POLICY blind ON users FOR INSERT WITH CHECK (true);
		CREATE POLICY own ON users FOR ALL USING (owner = 'me')`)
	r.exec(t, "BEGIN; SET LOCAL ROLE "+role+"; INSERT INTO users VALUES (42, 'another'); COMMIT")
	p.want(key42(t))
	r.exec(t, "BEGIN; SET LOCAL ROLE "+role+"; INSERT INTO users VALUES (43, 'me'); UPDATE users SET owner = 'me'; DELETE FROM users; COMMIT")
	p.want(keyScope(t, "default", "users:v1", "43"))
}
