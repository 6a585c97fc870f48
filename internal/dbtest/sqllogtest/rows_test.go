package sqllogtest_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// A person or a trigger writes a row.
func TestRowsByHand(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		l := r.open(sqllog.Config{})
		p := &process{t: t, log: l}
		p.sync()
		r.exec(t, `INSERT INTO twofold_outbox (scopes) VALUES ('[["k","default:users:v1:42"],["t","default","org:7"],["p","default","users:v1:"],["p","acme",""],["a"]]')`)
		p.want(key42(t), org(7), invalidate.Prefix("default", "users:v1:"), invalidate.Tenant("acme"), invalidate.All())
		r.exec(t, "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT)")
		r.exec(t, map[sqllog.Dialect]string{
			sqllog.SQLite: `CREATE TRIGGER told AFTER INSERT ON users BEGIN
				INSERT INTO twofold_outbox (scopes) VALUES (json_array(json_array('k', 'default:users:v1:' || NEW.id))); END`,
			sqllog.Postgres: `CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				INSERT INTO twofold_outbox (scopes) VALUES (json_build_array(json_build_array('k', 'default:users:v1:' || NEW.id))); RETURN NEW; END $$;
				CREATE TRIGGER told AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION tell()`,
			sqllog.MariaDB: `CREATE TRIGGER told AFTER INSERT ON users FOR EACH ROW
				INSERT INTO twofold_outbox (scopes) VALUES (JSON_ARRAY(JSON_ARRAY('k', CONCAT('default:users:v1:', NEW.id))))`,
		}[r.dialect])
		r.exec(t, "INSERT INTO users VALUES (42, 'a')")
		p.want(key42(t))
	})
}

// A row that does not parse may name anything, so everything older is given up, and one error line
// reports it. No line quotes the row.
func TestDamagedRows(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		var out bytes.Buffer
		l := r.open(sqllog.Config{Logger: slog.New(slog.NewTextHandler(&out, nil))})
		p := &process{t: t, log: l}
		p.sync()
		bad := []string{
			`secret`, `{}`, `[]`, `null`, `[[]]`, `[null]`, `[["x"]]`, `[["k"]]`, `[["k",7]]`, `[["k","secret"]]`, `[["k","a:b:c","d"]]`,
			`[["t","default"]]`, `[["t","","x"]]`, `[["t","default",""]]`, `[["p","a:b","x"]]`, `[["p","a"]]`, `[["a","x"]]`, `[["t","a","b","c"]]`,
			`[["t","default","x"],["h"]]`, `[["t","default","x"],["h",5000]]`,
			`[["t","default","org:7"]] trailing`, `[["t","default","org:7"],7]`, `[7]`,
		}
		for i, text := range bad {
			r.exec(t, `INSERT INTO twofold_outbox (scopes) VALUES ('`+text+`')`)
			keys, scopes := p.sync()
			if len(keys) != 0 || len(scopes) != 1 || !scopes[0].Damaged || len(scopes[0].Fences) != 0 {
				t.Fatalf("row %q: keys %+v, scopes %+v; want one damaged record", text, keys, scopes)
			}
			if s := l.Stats(); s.Damaged != int64(i+1) || s.Numbered != int64(i+1) {
				t.Errorf("row %q: Stats = %+v, want %d of each", text, s, i+1)
			}
		}
		if n := strings.Count(out.String(), "level=ERROR"); n != 1 || strings.Contains(out.String(), "secret") {
			t.Errorf("%d error lines, want one without the row:\n%s", n, &out)
		}
		// A bad row does not affect a good row beside it.
		r.exec(t, `INSERT INTO twofold_outbox (scopes) VALUES ('secret'), ('[["t","default","org:7"]]')`)
		if _, scopes := p.sync(); len(scopes) != 2 || !scopes[0].Damaged || len(scopes[1].Fences) != 1 {
			t.Errorf("a bad row beside a good one: %+v, want both", scopes)
		}
	})
}

// One Sync numbers more rows than one stage holds, with a few records.
func TestManyRows(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		const rows = 2500
		var values []string
		for n := range rows {
			values = append(values, fmt.Sprintf(`('[["t","default","org:%d"]]')`, n))
		}
		r.exec(t, "INSERT INTO twofold_outbox (scopes) VALUES "+strings.Join(values, ", "))
		_, scopes := p.sync()
		fences := 0
		for _, rec := range scopes {
			fences += len(rec.Fences)
		}
		if len(scopes) != 3 || fences != rows {
			t.Errorf("%d rows make %d records with %d fences, want 3 and %d", rows, len(scopes), fences, rows)
		}
	})
}

// Namespaces in the same tables share nothing.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		one, other := &process{t: t, log: r.fresh(sqllog.Config{})()}, &process{t: t, log: r.fresh(sqllog.Config{})()}
		one.sync()
		other.sync()
		commit(t, r, one.log, org(1))
		other.want()
		one.want(org(1))
		if err := one.log.NewEpoch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !one.bumped() || other.bumped() {
			t.Error("a new epoch of one namespace must reach only that namespace")
		}
	})
}

// Tables with other names, in a schema.
func TestOtherTables(t *testing.T) {
	t.Parallel()
	r := sharedPostgres(t)
	r.exec(t, "CREATE SCHEMA app")
	r.exec(t, "DROP TABLE twofold_outbox, twofold_log, twofold_meta")
	l := r.open(sqllog.Config{Tables: sqllog.Tables{Schema: "app", Outbox: "o", Log: "l", Meta: "m"}})
	for range 2 {
		if err := l.Install(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p := &process{t: t, log: l}
	p.sync()
	commit(t, r, l, org(1))
	p.want(org(1))
}
