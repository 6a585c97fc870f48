package worker

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/twofold-go/twofold/internal/bench/setup"
	"github.com/twofold-go/twofold/internal/dbtest"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/triggers"
	"github.com/twofold-go/twofold/tier/sqltier"
)

// The kinds of databases.
const (
	Postgres = "postgres"
	MariaDB  = "mariadb"
	SQLite   = "sqlite"
)

// SourceSchema creates the table of the source. No two transactions write the same version. The name
// is that of the key in the cache.
const SourceSchema = "CREATE TABLE source (id bigint PRIMARY KEY, version bigint NOT NULL, name varchar(20))"

// sourceTable says what a row of the source stands for.
var sourceTable = triggers.Table{Name: "source", Unique: [][]string{{"id"}}, Rows: []triggers.Row{{Key: namespace, Column: "name"}}}

// database is the database of the source and the log, as one process uses it.
type database struct {
	db      *sql.DB // of the log
	readers *sql.DB // of loaders
	writers *sql.DB // of transactions that write the source
	kind    string
	cut     atomic.Bool // the next answer to a writer is lost
}

// open opens a database of one kind.
func open(kind, at string) *database {
	switch kind {
	case SQLite:
		f := setup.Must(dbtest.OpenSQLite(at))
		return &database{db: f.Writer, readers: f.Reader, writers: f.Writer, kind: kind}
	case MariaDB:
		pool := setup.Must(sql.Open("mysql", at)) // package dbtest registers the driver
		limit(pool)
		return &database{db: pool, readers: pool, writers: pool, kind: kind}
	}
	pool, cfg := setup.Must(sql.Open("pgx", at)), setup.Must(pgx.ParseConfig(at))
	d := &database{db: pool, readers: pool, kind: kind}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return deafConn{c, &d.cut}, err
	}
	d.writers = stdlib.OpenDB(*cfg)
	limit(d.db)
	limit(d.writers)
	return d
}

func limit(pool *sql.DB) {
	pool.SetMaxOpenConns(8)
	pool.SetMaxIdleConns(8)
}

// close closes the pools; some of them may be the same pool.
func (d *database) close() error {
	return errors.Join(d.writers.Close(), d.readers.Close(), d.db.Close())
}

// log returns the log in the database.
func (d *database) log(bound time.Duration) *sqllog.Log { return sqllog.New(d.db, d.config(bound)) }

func (d *database) config(bound time.Duration) sqllog.Config {
	c := sqllog.Config{Dialect: sqllog.Postgres, Bound: bound}
	switch d.kind {
	case SQLite:
		c.Dialect, c.Readers = sqllog.SQLite, d.readers
	case MariaDB:
		c.Dialect = sqllog.MariaDB
	}
	return c
}

// cells returns the remote tier in the database.
func (d *database) cells() *sqltier.Tier {
	if d.kind == SQLite {
		return sqltier.New(d.db, sqltier.Config{Dialect: sqltier.SQLite, Readers: d.readers})
	}
	return sqltier.New(d.db, sqltier.Config{Dialect: sqltier.Postgres})
}

// Install makes the tables of a run in its database: the source with its keys, the log and the cells.
// It fails by [setup.Check].
func Install(ctx context.Context, run *Run, at string) {
	d := open(run.DB, at)
	defer func() { _ = d.close() }()
	schema := SourceSchema
	if run.DB == MariaDB {
		schema += " COLLATE utf8mb4_bin"
	}
	setup.Must(d.db.ExecContext(ctx, schema))
	for i := range run.Keys {
		setup.Must(d.db.ExecContext(ctx, fmt.Sprintf("INSERT INTO source (id, version, name) VALUES (%d, %d, '%s')", i, -1-i, Name(i))))
	}
	setup.Check(d.log(sqllog.DefaultBound).Install(ctx))
	if run.Plain && !run.Lacks(NoTriggers) {
		setup.Check(triggers.Install(ctx, d.db, d.config(sqllog.DefaultBound), sourceTable))
	}
	if run.DBCells {
		setup.Check(d.cells().Install(ctx))
	}
}

// versions reads the source, as of one moment.
func (d *database) versions(ctx context.Context, keys []int) (map[int]int64, error) {
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = strconv.Itoa(k)
	}
	rows, err := d.readers.QueryContext(ctx, "SELECT id, version FROM source WHERE id IN ("+strings.Join(ids, ", ")+")")
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	got := make(map[int]int64, len(keys))
	for rows.Next() {
		var k int
		var v int64
		if err := rows.Scan(&k, &v); err != nil {
			return nil, err
		}
		got[k] = v
	}
	return got, rows.Err()
}

func (d *database) ping(ctx context.Context) error {
	return d.readers.QueryRowContext(ctx, "SELECT 1").Scan(new(int))
}

// write writes a version into the rows of keys. They are sorted, so no two transactions deadlock.
func write(ctx context.Context, tx *sql.Tx, keys []int, version int64) error {
	for _, k := range keys {
		if _, err := tx.ExecContext(ctx, fmt.Sprintf("UPDATE source SET version = %d WHERE id = %d", version, k)); err != nil {
			return err
		}
	}
	return nil
}

// deafConn loses an answer on demand: it closes the connection when the answer has arrived. So the
// server has executed the command.
type deafConn struct {
	net.Conn
	cut *atomic.Bool
}

func (c deafConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == nil && c.cut.CompareAndSwap(true, false) {
		return 0, errors.Join(errors.New("worker: the answer is lost"), c.Conn.Close())
	}
	return n, err
}
