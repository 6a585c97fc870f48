package sqllogtest_test

import (
	"strings"
	"testing"

	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// keep saves the tables in one of the ways of operators, and returns what puts them back.
type keep func(t *testing.T, r *rig) (putBack func())

// ways are the ways to put tables back while the server runs.
var ways = map[sqllog.Dialect]map[string]keep{
	sqllog.Postgres: {
		"a dump, DROP and CREATE DATABASE": pgDump(func(do func(beside string), load func(db string, options ...string), db string) {
			do("DROP DATABASE " + db + " WITH (FORCE)")
			do("CREATE DATABASE " + db)
			load(db)
		}),
		"a dump, restored beside, RENAME": pgDump(func(do func(beside string), load func(db string, options ...string), db string) {
			do("CREATE DATABASE " + db + "_b")
			load(db + "_b")
			do("DROP DATABASE " + db + " WITH (FORCE)")
			do("ALTER DATABASE " + db + "_b RENAME TO " + db)
		}),
		"a dump, pg_restore --clean": pgDump(func(_ func(string), load func(db string, options ...string), db string) { load(db, "--clean") }),
		"a dump, TRUNCATE, data only": pgDump(func(_ func(string), load func(db string, options ...string), db string) {
			load(db, "TRUNCATE twofold_outbox, twofold_log, twofold_meta RESTART IDENTITY", "--data-only")
		}),
		"a dump, DELETE, data only": pgDump(func(_ func(string), load func(db string, options ...string), db string) {
			load(db, "DELETE FROM twofold_outbox; DELETE FROM twofold_log; DELETE FROM twofold_meta", "--data-only")
		}),
		"a copy in the server, INSERT":       copied(false),
		"a copy in the server, UPDATE":       copied(true),
		"a database from a TEMPLATE, RENAME": template,
	},
	sqllog.MariaDB: {
		"a dump over the tables":              myDump(""),
		"a dump, DROP and CREATE DATABASE":    myDump("DROP DATABASE {db}; CREATE DATABASE {db}"),
		"a dump, TRUNCATE, data only":         myDump("TRUNCATE {db}.twofold_outbox; TRUNCATE {db}.twofold_log; TRUNCATE {db}.twofold_meta", "--no-create-info"),
		"a dump, DELETE, data only":           myDump("DELETE FROM {db}.twofold_outbox; DELETE FROM {db}.twofold_log; DELETE FROM {db}.twofold_meta", "--no-create-info"),
		"a dump with REPLACE, data only":      myDump("DELETE FROM {db}.twofold_outbox; DELETE FROM {db}.twofold_log", "--no-create-info", "--replace"),
		"a copy in the server, RENAME TABLES": renamed,
	},
	sqllog.SQLite: fileWays,
}

// pgDump saves by pg_dump. Back gets what runs a statement beside the database, and what loads the
// dump into a database, after a first option that is a statement there.
func pgDump(back func(do func(beside string), load func(db string, options ...string), db string)) keep {
	return func(t *testing.T, r *rig) func() {
		t.Helper()
		file := "dump-" + r.name
		must(t, r.postgres.Run("pg_dump", "--format=custom", "--table=twofold_*", "--file="+file, r.postgres.DSN(r.name)))
		return func() {
			back(
				func(beside string) { must(t, r.postgres.Exec(t.Context(), "", beside)) },
				func(db string, options ...string) {
					if len(options) > 1 {
						must(t, r.postgres.Exec(t.Context(), db, options[0]))
						options = options[1:]
					}
					must(t, r.postgres.Run("pg_restore", append(options, "--dbname="+r.postgres.DSN(db), file)...))
				}, r.name)
			r.reconnect(t)
		}
	}
}

// template saves the database as a template of another one, which then takes its name.
func template(t *testing.T, r *rig) func() {
	t.Helper()
	name := r.name + "_t"
	do := func(statement string) error { return r.postgres.Exec(t.Context(), "", statement) }
	for range 100 { // another session may come in between
		must(t, do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '"+r.name+"'"))
		if err := do("CREATE DATABASE " + name + " TEMPLATE " + r.name); err == nil {
			break
		}
	}
	r.reconnect(t)
	return func() {
		must(t, do("DROP DATABASE "+r.name+" WITH (FORCE)"))
		must(t, do("ALTER DATABASE "+name+" RENAME TO "+r.name))
		r.reconnect(t)
	}
}

// copied saves the rows in other tables of the same database.
func copied(update bool) keep {
	return func(t *testing.T, r *rig) func() {
		t.Helper()
		for _, table := range []string{"log", "meta"} {
			r.exec(t, "DROP TABLE IF EXISTS saved_"+table)
			r.exec(t, "CREATE TABLE saved_"+table+" AS SELECT * FROM twofold_"+table)
		}
		return func() {
			r.exec(t, "DELETE FROM twofold_outbox")
			r.exec(t, "DELETE FROM twofold_log")
			r.exec(t, "INSERT INTO twofold_log SELECT * FROM saved_log")
			if !update {
				r.exec(t, "DELETE FROM twofold_meta")
				r.exec(t, "INSERT INTO twofold_meta SELECT * FROM saved_meta")
				return
			}
			columns := []string{"identity", "epoch", "key_end", "scope_end", "key_id", "scope_id", "bound"}
			if r.dialect == sqllog.Postgres && r.count(t, "SELECT count(*) FROM information_schema.columns WHERE table_name = 'twofold_meta' AND column_name = 'born'") > 0 {
				columns = append(columns, "born")
			}
			r.exec(t, "UPDATE twofold_meta SET ("+strings.Join(columns, ", ")+") = (SELECT "+strings.Join(columns, ", ")+" FROM saved_meta)")
		}
	}
}

// myDump saves by mariadb-dump. Before loads the dump, it runs statements.
func myDump(before string, options ...string) keep {
	return func(t *testing.T, r *rig) func() {
		t.Helper()
		file := "dump-" + r.name
		must(t, r.mariadb.Run("mariadb-dump", append(options, "--result-file="+file, r.name, "twofold_outbox", "twofold_log", "twofold_meta")...))
		return func() {
			for statement := range strings.SplitSeq(strings.ReplaceAll(before, "{db}", r.name), "; ") {
				if statement != "" {
					must(t, r.mariadb.Exec(t.Context(), "", statement))
				}
			}
			must(t, r.mariadb.Run("mariadb", r.name, "--execute=source "+file))
		}
	}
}

// renamed saves the rows in tables that later take the names of the others. The server notes whole
// seconds for the times at which it created tables.
func renamed(t *testing.T, r *rig) func() {
	t.Helper()
	tables := []string{"outbox", "log", "meta"}
	waitFor(t, r.db, "SELECT create_time < NOW() - INTERVAL 1 SECOND FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'twofold_meta'")
	for _, table := range tables {
		r.exec(t, "CREATE TABLE saved_"+table+" LIKE twofold_"+table)
		r.exec(t, "INSERT INTO saved_"+table+" SELECT * FROM twofold_"+table)
	}
	return func() {
		for _, table := range tables {
			r.exec(t, "DROP TABLE twofold_"+table)
			r.exec(t, "RENAME TABLE saved_"+table+" TO twofold_"+table)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
