package sqltiertest_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/sqltier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

const large = 2 << 20 // the suite's largest cell has 1 MB

func conformance(t *testing.T, r tier.Remote) {
	t.Helper()
	tiertest.TestRemote(t, func(*testing.T) tier.Remote { return r })
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	f := dbtest.SQLite(t)
	conformance(t, installed(t, f.Writer, sqltier.Config{Dialect: sqltier.SQLite, Readers: f.Reader, MaxCell: large}))
}

// One pool of many connections works, too, with transactions that begin without a lock.
func TestSQLiteOnePool(t *testing.T) {
	t.Parallel()
	conformance(t, installed(t, onePool(t), sqltier.Config{Dialect: sqltier.SQLite, MaxCell: large}))
}

func onePool(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "one.db")+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestSQLiteTwoProcesses(t *testing.T) {
	t.Parallel()
	a := dbtest.SQLite(t)
	b, err := dbtest.OpenSQLite(a.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	cfg := sqltier.Config{Dialect: sqltier.SQLite, MaxCell: large}
	conformance(t, alternating{installed(t, a.Writer, cfg), installed(t, b.Writer, cfg)})
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	_, db := postgres(t).Database(t)
	conformance(t, installed(t, db, sqltier.Config{Dialect: sqltier.Postgres, MaxCell: large}))
}

// The second process uses no prepared statements, as behind a pooler that forbids them, and a table
// name with a schema.
func TestPostgresTwoProcesses(t *testing.T) {
	t.Parallel()
	s := postgres(t)
	name, a := s.Database(t)
	b, err := sql.Open("pgx", s.DSN(name)+"&default_query_exec_mode=simple_protocol")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	conformance(t, alternating{
		installed(t, a, sqltier.Config{Dialect: sqltier.Postgres, MaxCell: large}),
		installed(t, b, sqltier.Config{Dialect: sqltier.Postgres, MaxCell: large, Table: "public.twofold_cells"}),
	})
}

// alternating claims as one process and does everything else as another.
type alternating struct {
	one *sqltier.Tier
	*sqltier.Tier
}

func (a alternating) Claim(ctx context.Context, keys []string, claims []tier.Claim, answers []tier.Claimed) error {
	return a.one.Claim(ctx, keys, claims, answers)
}
