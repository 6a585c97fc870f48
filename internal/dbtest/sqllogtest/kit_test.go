// Package sqllogtest_test tries package sqllog on real databases.
package sqllogtest_test

import (
	"database/sql"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// rig is a database with the tables of a log.
type rig struct {
	dialect sqllog.Dialect
	db      *sql.DB
	readers *sql.DB // nil: db
}

// eachDatabase runs test once per kind of database, side by side.
func eachDatabase(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	for _, kind := range []struct {
		name string
		open func(t *testing.T) *rig
	}{
		{"sqlite", sqliteRig},
		{"postgres", postgresRig},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, kind.open(t))
		})
	}
}

func sqliteRig(t *testing.T) *rig {
	t.Helper()
	f := dbtest.SQLite(t)
	return (&rig{dialect: sqllog.SQLite, db: f.Writer, readers: f.Reader}).install(t)
}

func postgresRig(t *testing.T) *rig {
	t.Helper()
	_, db := dbtest.Postgres(t).Database(t)
	return (&rig{dialect: sqllog.Postgres, db: db}).install(t)
}

func (r *rig) install(t testing.TB) *rig {
	t.Helper()
	if err := r.open(sqllog.Config{}).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// open returns a handle as one more process has it.
func (r *rig) open(cfg sqllog.Config) *sqllog.Log {
	cfg.Dialect, cfg.Readers = r.dialect, r.readers
	return sqllog.New(r.db, cfg)
}

var namespaces atomic.Int64

// fresh returns a function that opens handles on a log without a record.
func (r *rig) fresh(cfg sqllog.Config) func() *sqllog.Log {
	cfg.Namespace = "ns-" + strconv.FormatInt(namespaces.Add(1), 10)
	return func() *sqllog.Log { return r.open(cfg) }
}

