package sqllogtest_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// turns connects to the SQLite files in turn, and then to the first one.
type turns struct {
	driver driver.Driver
	dsn    []string
	begun  bool // count
	n      int
}

func (c *turns) Driver() driver.Driver { return c.driver }

func (c *turns) Connect(context.Context) (driver.Conn, error) {
	dsn := c.dsn[0]
	if c.begun {
		dsn = c.dsn[min(c.n, len(c.dsn)-1)]
		if c.n++; c.n >= len(c.dsn) {
			c.begun = false
		}
	}
	return c.driver.Open(dsn)
}

// During a failover, a pool leads to two servers. A stage on the lagging server finds no rows,
// which does not prove that there are none.
func TestStageOnAnotherServer(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	p := r.process(t, sqllog.Config{})
	standby := filepath.Join(t.TempDir(), "standby.db")
	r.exec(t, "VACUUM INTO ?", standby)
	var path string
	if err := r.db.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list").Scan(&path); err != nil {
		t.Fatal(err)
	}
	c := &turns{driver: r.db.Driver(), dsn: []string{"file:" + path, "file:" + standby, "file:" + path}}
	db := sql.OpenDB(c)
	db.SetMaxIdleConns(0) // each query makes a connection
	t.Cleanup(func() { _ = db.Close() })
	l := sqllog.New(r.db, sqllog.Config{Dialect: sqllog.SQLite, Readers: db})
	commit(t, r, l, org(1))
	c.begun = true
	page, err := l.Sync(t.Context(), p.at, invalidate.Append{})
	if err != nil || len(page.Scopes) != 1 {
		t.Errorf("Sync = %+v, %v; want the row that was committed before", page, err)
	}
	if c.begun {
		t.Errorf("the Sync made %d connections and never asked the standby", c.n)
	}
}

// A panic of Config.Wait counts as its error.
func TestWaitPanics(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	p := r.process(t, sqllog.Config{Poll: time.Millisecond, Bound: sqllog.MinBound, Wait: func(context.Context) error { panic("boom") }})
	if page, err := p.log.Tail(t.Context(), p.at); err != nil || len(page.Scopes) > 0 {
		t.Errorf("Tail = %+v, %v; want nothing", page, err)
	}
}

// A row must not be so large that its record cannot be written: it would stop every Sync.
func TestHugeRow(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, r *rig) {
		p := r.process(t, sqllog.Config{})
		r.exec(t, `INSERT INTO twofold_outbox (scopes) VALUES ('[`+strings.Repeat(`["k","default:users:v1:42"],`, 150_000)+`["a"]]')`)
		if _, scopes := p.sync(); len(scopes) != 1 || !scopes[0].Damaged {
			t.Errorf("%d records, want one of a row that may mean anything", len(scopes))
		}
	})
}

// SQLite does not check column types, so a person may have written anything into a row.
func TestOddTimes(t *testing.T) {
	t.Parallel()
	r := sqliteRig(t)
	p := r.process(t, sqllog.Config{})
	for _, at := range []string{"1.5", "'now'", "x'00'", "-9223372036854775807", "9e99"} {
		r.exec(t, `INSERT INTO twofold_outbox (scopes, at) VALUES ('[["t","default","org:1"]]', `+at+`)`)
		p.want(org(1))
	}
}

// On MariaDB the notes may lag behind the records, if a process ended between the two. A new epoch
// then names the last record as the one before it.
func TestEpochBehindUnfinishedNumbering(t *testing.T) {
	t.Parallel()
	r := sharedMariaDB(t)
	p := r.process(t, sqllog.Config{})
	commit(t, r, p.log, org(1))
	r.exec(t, "CREATE TABLE saved AS SELECT scope_end, scope_id FROM twofold_meta")
	p.sync()
	r.exec(t, "UPDATE twofold_meta m JOIN saved s SET m.scope_end = s.scope_end, m.scope_id = s.scope_id")
	if p.want(); r.count(t, "SELECT count(*) FROM twofold_meta m JOIN saved s USING (scope_end)") != 1 {
		t.Fatal("the notes are where the records are")
	}
	if err := p.log.NewEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := p.at
	if _, scopes := p.sync(); len(scopes) != 1 || scopes[0].After != before.ScopeID || scopes[0].Prev != before.Scope {
		t.Errorf("%+v is followed by %+v, which does not link to it", before, scopes)
	}
}
