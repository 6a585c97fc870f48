package sqllogtest_test

import (
	"os"
	"testing"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// BenchmarkNothingNew compares a Sync without news with the smallest possible statement.
func BenchmarkNothingNew(b *testing.B) {
	f := dbtest.SQLite(b)
	_, db := dbtest.Postgres(b).Database(b)
	rigs := map[string]*rig{
		"sqlite":   {dialect: sqllog.SQLite, db: f.Writer, readers: f.Reader},
		"postgres": {dialect: sqllog.Postgres, db: db},
	}
	if os.Getenv(dbtest.MariaDBEnv) == "1" {
		_, db := dbtest.MariaDB(b).Database(b)
		rigs["mariadb"] = &rig{dialect: sqllog.MariaDB, db: db}
	}
	for name, r := range rigs {
		l := r.install(b).open(sqllog.Config{})
		at := invalidate.Cursor{}
		for range 10 {
			p, err := l.Sync(b.Context(), at, invalidate.Append{})
			if err != nil {
				b.Fatal(err)
			}
			at = p.End
		}
		b.Run(name+"/sync", func(b *testing.B) {
			for b.Loop() {
				if _, err := l.Sync(b.Context(), at, invalidate.Append{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/select 1", func(b *testing.B) {
			pool := r.db
			if r.readers != nil {
				pool = r.readers
			}
			for b.Loop() {
				var one int
				if err := pool.QueryRowContext(b.Context(), "SELECT 1").Scan(&one); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/numbers 1", func(b *testing.B) {
			for b.Loop() {
				if err := l.Tx(b.Context(), r.db, nil, func(tx *sqllog.Tx) error {
					tx.Invalidate(invalidate.Tag("default", "t"))
					return nil
				}); err != nil {
					b.Fatal(err)
				}
				p, err := l.Sync(b.Context(), at, invalidate.Append{})
				if err != nil {
					b.Fatal(err)
				}
				at = p.End
			}
		})
	}
}
