// Package sqllogtest_test tests package sqllog on real databases.
package sqllogtest_test

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/key"
)

// patient is the Bound of logs that name none. PostgreSQL ends a Sync that idles for an eighth of it,
// which for the default is 250 ms, and a busy machine may stop a process for longer.
const patient = 8 * time.Second

// rig is a database with the tables of a log.
type rig struct {
	dialect  sqllog.Dialect
	db       *sql.DB
	readers  *sql.DB                // nil: db
	postgres *dbtest.PostgresServer // nil: another database
	mariadb  *dbtest.MariaDBServer  // nil: another database
	name     string                 // of the database in its server
	path     string                 // of the file of SQLite
}

// rigs are the kinds of database.
var rigs = []struct {
	name    string
	dialect sqllog.Dialect
	open    func(testing.TB) *rig
}{
	{"sqlite", sqllog.SQLite, sqliteRig},
	{"postgres", sqllog.Postgres, sharedPostgres},
	{"mariadb", sqllog.MariaDB, sharedMariaDB},
}

// eachDatabase runs test in parallel for each kind of database. All tests share one PostgreSQL
// server.
func eachDatabase(t *testing.T, test func(t *testing.T, r *rig)) {
	t.Helper()
	for _, kind := range rigs {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, kind.open(t))
		})
	}
}

func sqliteRig(t testing.TB) *rig {
	t.Helper()
	f := dbtest.SQLite(t)
	return (&rig{dialect: sqllog.SQLite, db: f.Writer, readers: f.Reader, path: f.Path}).install(t)
}

// postgresRig returns a server that a test may break.
func postgresRig(t testing.TB, settings ...string) *rig {
	t.Helper()
	return onServer(t, dbtest.Postgres(t, settings...))
}

func onServer(t testing.TB, s *dbtest.PostgresServer) *rig {
	t.Helper()
	name, db := s.Database(t)
	return (&rig{dialect: sqllog.Postgres, db: db, postgres: s, name: name}).install(t)
}

// shared are the servers of all tests that break nothing. Each starts with the first test that
// needs it.
var shared struct {
	sync.Mutex
	postgres *dbtest.PostgresServer
	mariadb  *dbtest.MariaDBServer
}

func sharedPostgres(t testing.TB) *rig {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.postgres == nil {
		s, err := dbtest.StartPostgres("")
		mustStart(t, err, os.Getenv("CI") != "")
		shared.postgres = s
	}
	return onServer(t, shared.postgres)
}

func sharedMariaDB(t testing.TB) *rig {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.mariadb == nil {
		s, err := dbtest.StartMariaDB("")
		mustStart(t, err, os.Getenv("TWOFOLD_MARIADB") == "1")
		shared.mariadb = s
	}
	name, db := shared.mariadb.Database(t)
	return (&rig{dialect: sqllog.MariaDB, db: db, mariadb: shared.mariadb, name: name}).install(t)
}

// mustStart skips a test if its server is missing and optional.
func mustStart(t testing.TB, err error, needed bool) {
	t.Helper()
	if errors.Is(err, dbtest.ErrNotInstalled) && !needed {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	var err error
	if shared.postgres != nil {
		err = shared.postgres.Close()
	}
	if shared.mariadb != nil {
		err = errors.Join(err, shared.mariadb.Close())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func (r *rig) install(t testing.TB) *rig {
	t.Helper()
	if err := r.open(sqllog.Config{}).Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// config returns the configuration of a log with the defaults.
func (r *rig) config() sqllog.Config { return sqllog.Config{Dialect: r.dialect} }

// open returns a handle, like that of one more process.
func (r *rig) open(cfg sqllog.Config) *sqllog.Log {
	cfg.Dialect, cfg.Readers = r.dialect, r.readers
	cfg.Bound = cmp.Or(cfg.Bound, patient)
	return sqllog.New(r.db, cfg)
}

var namespaces atomic.Int64

// fresh returns a function that opens handles on a log without a record.
func (r *rig) fresh(cfg sqllog.Config) func() *sqllog.Log {
	cfg.Namespace = "ns-" + strconv.FormatInt(namespaces.Add(1), 10)
	return func() *sqllog.Log { return r.open(cfg) }
}

func (r *rig) exec(t testing.TB, query string, args ...any) {
	t.Helper()
	if _, err := r.db.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// count returns the result of a query for one number.
func (r *rig) count(t testing.TB, query string) (n int) {
	t.Helper()
	if err := r.db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// process follows a log with one handle, from its start.
type process struct {
	t            testing.TB
	log          *sqllog.Log
	at           invalidate.Cursor
	keys, scopes []invalidate.Record // all records that it has seen
}

func (r *rig) process(t testing.TB, cfg sqllog.Config) *process {
	t.Helper()
	p := &process{t: t, log: r.open(cfg)}
	p.sync()
	return p
}

// sync reads the log up to its end and returns what is new.
func (p *process) sync() (keys, scopes []invalidate.Record) {
	p.t.Helper()
	for {
		page, err := p.log.Sync(p.t.Context(), p.at, invalidate.Append{})
		if err != nil {
			p.t.Fatal(err)
		}
		keys, scopes = append(keys, page.Keys...), append(scopes, page.Scopes...)
		p.keys, p.scopes = append(p.keys, page.Keys...), append(p.scopes, page.Scopes...)
		if !page.More {
			p.at = page.End
			return keys, scopes
		}
		p.at = invalidate.Cursor{Key: p.keys[len(p.keys)-1].At, Scope: p.scopes[len(p.scopes)-1].At}
	}
}

// append appends outside a transaction, and moves the position.
func (p *process) append(a invalidate.Append) {
	p.t.Helper()
	page, err := p.log.Sync(p.t.Context(), p.at, a)
	if err != nil {
		p.t.Fatal(err)
	}
	p.at = page.End
}

// want checks that a Sync shows exactly these scopes, in any order.
func (p *process) want(scopes ...invalidate.Scope) {
	p.t.Helper()
	keys, others := p.sync()
	var got []invalidate.Fence
	for _, rec := range append(keys, others...) {
		if rec.Bump || rec.Damaged {
			p.t.Fatalf("record %+v, want none that starts an epoch or is damaged", rec)
		}
		got = append(got, rec.Fences...)
	}
	for _, s := range scopes {
		i := slices.Index(got, invalidate.Fence{Scope: s})
		if i < 0 {
			p.t.Fatalf("no fence of a %v in %+v", s.Kind(), got)
		}
		got = slices.Delete(got, i, i+1)
	}
	if len(got) > 0 {
		p.t.Fatalf("fences %+v, which were not committed", got)
	}
}

// bumped reports whether a Sync shows a new epoch.
func (p *process) bumped() bool {
	p.t.Helper()
	keys, scopes := p.sync()
	isBump := func(rec invalidate.Record) bool { return rec.Bump }
	if slices.ContainsFunc(keys, isBump) != slices.ContainsFunc(scopes, isBump) {
		p.t.Errorf("one sequence alone starts an epoch: %+v, %+v", keys, scopes)
	}
	return slices.ContainsFunc(keys, isBump)
}

func key42(t testing.TB) invalidate.Scope {
	t.Helper()
	k, err := key.Space{Tenant: "default", Namespace: "users:v1"}.Key("42")
	if err != nil {
		t.Fatal(err)
	}
	return invalidate.Key(k)
}

func org(n int) invalidate.Scope { return invalidate.Tag("default", "org:"+strconv.Itoa(n)) }

type sqlDB = sql.DB

// openAs returns a pool for another data source name.
func openAs(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}
