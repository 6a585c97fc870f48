package workload

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/bench/report"
	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/sqlpgx"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
)

// Workload I puts invalidations into the transactions that write the data, in PostgreSQL with all
// its syncs to disk. It measures the cost for eight writers compared with other ways to number
// rows, the cost for a process that asks for news, and the time until another process knows.

const (
	commitSetting = "one transaction, 8 writers"
	syncSetting   = "one question"
	lagSetting    = "from COMMIT to another process"

	bareCommit = "no invalidation"
	bareSelect = "SELECT 1"
	listening  = "after-commit call and LISTEN"
	polling    = "the writer dies, poll of 100 ms"

	emptySync = "Sync, nothing new"

	oneAppended, oneTriggered     = "Append, 1 scope", "a trigger, 1 scope"
	threeAppended, threeTriggered = "Append, 3 scopes", "a trigger, 3 scopes"
	counterRow, withNotify        = "a counter row numbers", "Append, 1 scope, and NOTIFY in it"

	accounts   = 10_000
	pollOfLogs = 100 * time.Millisecond
)

// database is a PostgreSQL server with accounts to write, and a log.
type database struct {
	server *dbtest.PostgresServer
	db     *sql.DB
	log    *sqllog.Log
}

func openDatabase(t *setup.T) *database {
	ctx := t.Context()
	d := &database{server: setup.Must(dbtest.StartPostgres("", "fsync=on", "full_page_writes=on", "shared_buffers=128MB"))}
	t.Closing(d.server.Close)
	d.db = setup.Must(d.server.Open(""))
	t.Closing(d.db.Close)
	d.db.SetMaxIdleConns(16)
	cfg := sqllog.Config{Dialect: sqllog.Postgres, Poll: pollOfLogs}
	d.log = sqllog.New(d.db, cfg)
	setup.Check(d.log.Install(ctx))
	for _, table := range []string{"accounts", "accounts1", "accounts3"} { // see watched
		setup.Must(d.db.ExecContext(ctx, fmt.Sprintf(`CREATE TABLE %s AS SELECT i AS id, 0 AS n, 'tag' || i AS tag FROM generate_series(0, %d) i`, table, accounts-1)))
		setup.Must(d.db.ExecContext(ctx, `ALTER TABLE `+table+` ADD PRIMARY KEY (id)`))
	}
	setup.Check(triggers.Install(ctx, d.db, cfg, watched...))
	for _, q := range []string{
		`CREATE TABLE counter (n bigint NOT NULL)`, `INSERT INTO counter VALUES (0)`,
		`CREATE TABLE numbered (n bigint PRIMARY KEY, scopes text NOT NULL)`,
	} {
		setup.Must(d.db.ExecContext(ctx, q))
	}
	return d
}

// watched are tables that invalidate themselves: with one scope for a row, and with three.
var watched = []triggers.Table{
	{Name: "accounts1", Rows: []triggers.Row{{Key: "accounts:v1", Column: "id"}}},
	{Name: "accounts3", Rows: []triggers.Row{{Key: "accounts:v1", Column: "id"}, {Tag: "t:", Column: "tag"}, {Tag: "accounts"}}},
}

// scopesOf returns n scopes that name an account.
func scopesOf(id, n int) []invalidate.Scope {
	return []invalidate.Scope{
		keyScope(int64(id)), invalidate.Tag("default", tagOf(int64(id))), invalidate.Tag("default", "accounts"),
	}[:n]
}

// writer is a way to invalidate in a transaction that changes a row of the table.
type writer struct {
	name, table string
	more        func(ctx context.Context, tx *sql.Tx, id int) error
}

// writers returns the ways to invalidate in a transaction.
func (d *database) writers() []writer {
	nothing := func(context.Context, *sql.Tx, int) error { return nil }
	numbered := func(ctx context.Context, tx *sql.Tx, _ int) error {
		_, err := tx.ExecContext(ctx, `WITH c AS (UPDATE counter SET n = n + 1 RETURNING n) INSERT INTO numbered SELECT n, $1 FROM c`, `[["t","default","accounts"]]`)
		return err
	}
	outbox := func(n int) func(context.Context, *sql.Tx, int) error {
		return func(ctx context.Context, tx *sql.Tx, id int) error { return d.log.Append(ctx, tx, scopesOf(id, n)...) }
	}
	notifying := func(ctx context.Context, tx *sql.Tx, id int) error {
		if err := outbox(1)(ctx, tx, id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `SELECT pg_notify('bench', '')`)
		return err
	}
	return []writer{
		{bareCommit, "accounts", nothing},
		{oneTriggered, "accounts1", nothing},
		{oneAppended, "accounts", outbox(1)},
		{threeTriggered, "accounts3", nothing},
		{threeAppended, "accounts", outbox(3)},
		{counterRow, "accounts", numbered},
		{withNotify, "accounts", notifying},
	}
}

func (e *Env) databases() {
	d := openDatabase(e.t)
	e.commits(d)
	e.questions(e.t.Context(), d)
	e.lags(d)
	e.cells(d)
}

// commits writes small transactions from eight goroutines, while a process numbers their rows.
func (e *Env) commits(d *database) {
	var cs []contender
	for _, w := range d.writers() {
		c := contender{name: w.name, op: func(ctx context.Context, _ int) error { return d.transaction(ctx, &w) }}
		cs = append(cs, c.beside(e.t, func(ctx context.Context) error { return follow(ctx, d.log) }))
	}
	e.compare(&scenario{
		id: "I", setting: commitSetting, goroutines: 8, warm: [3]int64{300, 100, 5}, span: [3]int64{2000, 400, 20}, latencies: true,
		tables: []report.Comparison{{
			Title: "I: a small transaction of 8 writers in PostgreSQL, synced to disk", Reference: bareCommit, Unit: nsOp, More: []string{p50, p99},
			Note: "One UPDATE, the statement that the row names, COMMIT. ns/op is the inverse of the throughput of all eight. Meanwhile a process numbers the appended records.",
		}},
	}, cs)
}

func (d *database) transaction(ctx context.Context, w *writer) error {
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // it may already be committed
	id := rand.N(accounts)
	if _, err := tx.ExecContext(ctx, `UPDATE `+w.table+` SET n = n + 1 WHERE id = $1`, id); err != nil {
		return err
	}
	if err := w.more(ctx, tx, id); err != nil {
		return err
	}
	return tx.Commit()
}

// follow reads a log as a process does, until ctx ends.
func follow(ctx context.Context, log *sqllog.Log) error {
	tiers, err := cache.Open(cache.TiersConfig{Log: log})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return tiers.Close(context.WithoutCancel(ctx))
}

// questions measures Syncs that find nothing new, compared with the shortest statement.
func (e *Env) questions(ctx context.Context, d *database) {
	end := endOf(ctx, d.log)
	setup.Must(d.db.ExecContext(ctx, `VACUUM ANALYZE`))
	e.compare(onebyone(syncSetting, report.Comparison{
		Title: "I: a process asks what is new", Reference: bareSelect, Unit: p50, More: []string{p99, allocsOp},
	}), []contender{
		{name: bareSelect, op: func(ctx context.Context, _ int) error { return d.db.QueryRowContext(ctx, `SELECT 1`).Scan(new(int)) }},
		{name: emptySync, op: func(ctx context.Context, _ int) error {
			_, err := d.log.Sync(ctx, end, invalidate.Append{})
			return err
		}},
	})
}

// onebyone is a scenario of operations that one goroutine does, one after another.
func onebyone(setting string, t report.Comparison) *scenario {
	return &scenario{id: "I", setting: setting, warm: [3]int64{50, 20, 1}, span: [3]int64{500, 150, 5}, latencies: true, tables: []report.Comparison{t}}
}

// endOf reads a log to its end, and returns the position of the end.
func endOf(ctx context.Context, log *sqllog.Log) (at invalidate.Cursor) {
	for {
		p := setup.Must(log.Sync(ctx, at, invalidate.Append{}))
		if !p.More {
			return p.End
		}
		at = behind(at, p)
	}
}

// behind returns the position of a reader that has read a page.
func behind(at invalidate.Cursor, p invalidate.Page) invalidate.Cursor {
	if n := len(p.Keys); n > 0 {
		at.Key, at.KeyID = p.Keys[n-1].At, p.Keys[n-1].ID
	}
	if n := len(p.Scopes); n > 0 {
		at.Scope, at.ScopeID = p.Scopes[n-1].At, p.Scopes[n-1].ID
	}
	return at
}

// lags measures the times from the answer to COMMIT until another process has the record.
func (e *Env) lags(d *database) {
	server := setup.Must(pgx.ParseConfig(d.server.DSN("")))
	listener := setup.Must(sqlpgx.NewListener(sqlpgx.ListenerConfig{Conn: server}))
	e.t.Cleanup(listener.Close)
	var cs []contender
	for _, w := range []struct {
		name  string
		lives bool // the writer stays alive and numbers its own rows; otherwise it dies after COMMIT
		other sqllog.Config
	}{
		{listening, true, sqllog.Config{Dialect: sqllog.Postgres, Poll: time.Second, Wait: listener.Wait}},
		{polling, false, sqllog.Config{Dialect: sqllog.Postgres, Poll: pollOfLogs}},
	} {
		own, other := sqllog.New(d.db, sqllog.Config{Dialect: sqllog.Postgres, Poll: time.Second}), sqllog.New(d.db, w.other)
		c := contender{name: w.name, sample: func(l report.Line) {
			times := make([]time.Duration, by(e, 60, 20, 2))
			for i := range times {
				times[i] = d.heard(e.t.Context(), own, other, w.lives)
			}
			slices.Sort(times)
			e.addQuantiles(l, times)
		}}
		if w.lives {
			c = c.beside(e.t, func(ctx context.Context) error { return follow(ctx, own) })
		}
		cs = append(cs, c)
	}
	e.compare(&scenario{id: "I", setting: lagSetting, tables: []report.Comparison{{
		Title: "I: from the answer to COMMIT until another process has the record", Reference: listening, Unit: p50, More: []string{p99},
	}}}, cs)
}

// heard commits an invalidation and returns the time that it took to reach a Tail.
func (d *database) heard(ctx context.Context, own, other *sqllog.Log, lives bool) time.Duration {
	type tailed struct {
		when time.Time
		err  error
	}
	at, over := endOf(ctx, other), make(chan tailed, 1)
	go func() {
		for {
			p, err := other.Tail(ctx, at)
			if err != nil || len(p.Keys)+len(p.Scopes) > 0 {
				over <- tailed{time.Now(), err}
				return
			}
		}
	}()
	time.Sleep(10*time.Millisecond + rand.N(pollOfLogs)) // until the Tail waits
	setup.Check(own.Tx(ctx, d.db, nil, func(tx *sqllog.Tx) error { tx.Invalidate(scopesOf(1, 1)...); return nil }))
	committed := time.Now()
	if lives {
		own.Committed()
	}
	heard := <-over
	setup.Check(heard.err)
	return heard.when.Sub(committed)
}
