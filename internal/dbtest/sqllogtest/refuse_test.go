package sqllogtest_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/key"
)

// Without tables a write fails together with its transaction, and no lease is renewed.
func TestMissingTables(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.exec(t, "CREATE TABLE data (id INTEGER)")
		for _, table := range []string{"outbox", "log", "meta"} {
			r.exec(t, "DROP TABLE IF EXISTS twofold_"+table)
			l := r.open(sqllog.Config{})
			_, err := l.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
			wantSchema(t, r.dialect, "Sync without "+table, err)
			_, err = l.Tail(t.Context(), invalidate.Cursor{})
			wantSchema(t, r.dialect, "Tail without "+table, err)
			if table == "outbox" {
				err = l.Tx(t.Context(), r.db, nil, func(tx *sqllog.Tx) error {
					tx.Invalidate(org(1))
					return execIn(t, tx, "INSERT INTO data VALUES (1)")
				})
				wantSchema(t, r.dialect, "Tx without "+table, err)
			}
			if err := l.Install(t.Context()); err != nil {
				t.Fatal(err)
			}
			r.process(t, sqllog.Config{})
		}
		if n := r.count(t, "SELECT count(*) FROM data"); n != 0 {
			t.Errorf("%d rows were written without their invalidation", n)
		}
		r.exec(t, "UPDATE twofold_meta SET version = 99")
		_, err := r.open(sqllog.Config{}).Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
		wantSchema(t, r.dialect, "Sync with tables of another version", err)
	})
}

// wantSchema checks that an error names the last migration of the dialect.
func wantSchema(t *testing.T, d sqllog.Dialect, what string, err error) {
	t.Helper()
	files, failed := fs.Glob(sqllog.Migrations(d), "goose/*.sql")
	must(t, failed)
	last := strings.TrimSuffix(path.Base(slices.Max(files)), ".sql")
	if !errors.Is(err, sqllog.ErrSchema) || !strings.Contains(err.Error(), last) {
		t.Errorf("%s = %v, want ErrSchema with %q", what, err, last)
	}
}

// A server, a session or a file that accepts no writes renews no lease, even if there is nothing to
// write.
func TestStandbyRefused(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		if r.dialect == sqllog.SQLite {
			if _, err := sqllog.New(r.readers, sqllog.Config{Dialect: r.dialect}).Sync(t.Context(), p.at, oneKey()); !errors.Is(err, sqllog.ErrStandby) {
				t.Errorf("Sync that appends to a file open for reading = %v, want ErrStandby", err)
			}
			return
		}
		var db *sql.DB
		if r.dialect == sqllog.Postgres {
			db = openAs(t, "pgx", r.postgres.DSN(r.name)+"&default_transaction_read_only=on")
		} else {
			db = openAs(t, "mysql", r.mariadb.DSN(r.name)+"&tx_read_only=1")
		}
		for name, at := range map[string]invalidate.Cursor{"at the end": p.at, "without a position": {}} {
			if _, err := sqllog.New(db, sqllog.Config{Dialect: r.dialect}).Sync(t.Context(), at, invalidate.Append{}); !errors.Is(err, sqllog.ErrStandby) {
				t.Errorf("Sync %s in a session that only reads = %v, want ErrStandby", name, err)
			}
		}
		fresh := sqllog.Config{Dialect: r.dialect, Namespace: "fresh"}
		if _, err := sqllog.New(db, fresh).Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{}); !errors.Is(err, sqllog.ErrStandby) {
			t.Errorf("the first Sync in a session that only reads = %v, want ErrStandby", err)
		}
	})
}

func oneKey() invalidate.Append {
	k, _ := key.Parse("t:n:1") // is valid
	return invalidate.Append{Keys: []invalidate.Fence{{Scope: invalidate.Key(k)}}}
}

// Writers need only INSERT on the outbox; followers need the rights that ErrRights names.
func TestRights(t *testing.T) {
	t.Parallel()
	r := postgresRig(t)
	for _, q := range []string{
		"CREATE ROLE writer LOGIN", "GRANT INSERT ON twofold_outbox TO writer",
		"CREATE ROLE follower LOGIN", "GRANT SELECT, DELETE ON twofold_outbox TO follower",
		"GRANT SELECT, INSERT, DELETE ON twofold_log TO follower", "GRANT SELECT, INSERT, UPDATE ON twofold_meta TO follower",
	} {
		r.exec(t, q)
	}
	as := func(role string) *rig {
		return &rig{dialect: r.dialect, db: openAs(t, "pgx", strings.Replace(r.postgres.DSN(r.name), "postgres@", role+"@", 1))}
	}
	writer, follower := as("writer"), as("follower")
	p := follower.process(t, sqllog.Config{})
	for range 2 * 256 { // long enough to remove old records
		commit(t, writer, writer.open(sqllog.Config{}), org(1))
		p.want(org(1))
	}
	if _, err := writer.open(sqllog.Config{}).Sync(t.Context(), p.at, invalidate.Append{}); !errors.Is(err, sqllog.ErrRights) {
		t.Errorf("Sync of a writer = %v, want ErrRights", err)
	}
	err := follower.open(sqllog.Config{}).Tx(t.Context(), follower.db, nil, func(tx *sqllog.Tx) error { tx.Invalidate(org(1)); return nil })
	if !errors.Is(err, sqllog.ErrRights) {
		t.Errorf("Append of a follower = %v, want ErrRights", err)
	}
}

// A pool commits each statement by itself.
func TestPoolRefused(t *testing.T) {
	t.Parallel()
	f := dbtest.SQLite(t)
	l := sqllog.New(f.Writer, sqllog.Config{Dialect: sqllog.SQLite})
	type wrapped struct{ *sqlDB }
	for name, pool := range map[string]sqllog.Execer{"*sql.DB": f.Writer, "a type around it": wrapped{f.Writer}, "nil": nil} {
		if err := l.Append(t.Context(), pool, org(1)); !errors.Is(err, sqllog.ErrNotTx) {
			t.Errorf("Append to %s = %v, want ErrNotTx", name, err)
		}
	}
}

// Install leaves a table of the program alone that has a name of the log's tables.
func TestInstallRefusesForeignTables(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		r.exec(t, "CREATE TABLE orders (id INT PRIMARY KEY, ns VARCHAR(9))")
		for field, tables := range map[string]sqllog.Tables{
			"Outbox": {Outbox: "orders", Log: "l", Meta: "m"}, "Log": {Outbox: "o", Log: "orders", Meta: "m"}, "Meta": {Outbox: "o", Log: "l", Meta: "orders"},
		} {
			err := r.open(sqllog.Config{Tables: tables}).Install(t.Context())
			want := "Tables." + field + " is the name of a table that is there and has other columns; choose another name"
			if !errors.Is(err, sqllog.ErrConfig) || !strings.Contains(err.Error(), want) {
				t.Errorf("Install = %v, want ErrConfig with %q", err, want)
			}
		}
		if _, err := r.db.ExecContext(t.Context(), "INSERT INTO orders VALUES (1, 'x')"); err != nil { // two columns, as before
			t.Errorf("the table of the program has changed: %v", err)
		}
		for _, table := range []string{"o", "l", "m"} {
			if _, err := r.db.ExecContext(t.Context(), "SELECT 1 FROM "+table); err == nil {
				t.Errorf("the refused Install made table %s", table)
			}
		}
	})
}
