package sqltier

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/tier"
)

// Dialect is the kind of database. The zero Dialect is invalid.
type Dialect uint8

// The dialects.
const (
	Postgres Dialect = iota + 1 // PostgreSQL 12 or newer
	SQLite                      // SQLite 3.24 or newer, in WAL mode
)

// String returns the dialect in lower case.
func (d Dialect) String() string {
	switch d {
	case SQLite:
		return "sqlite"
	case Postgres:
		return "postgres"
	}
	return "none"
}

// The defaults of a [Config].
const (
	DefaultTable    = "twofold_cells"
	DefaultMaxBytes = 256 << 20

	defaultMaxCellSQLite   = 1 << 20
	defaultMaxCellPostgres = 64 << 10
)

// Config says where the cells are. Dialect is required.
type Config struct {
	Dialect Dialect

	// Readers is a second pool, for statements that only read. Use it with SQLite, where one
	// pool of one connection should do all writes. If nil, it is the pool given to New.
	Readers *sql.DB

	// Table is the table of the cells: a name of letters, digits and underscores, on
	// PostgreSQL with a schema and a dot before it if needed. If empty, it is DefaultTable. Caches
	// that share a database but not their values need different tables.
	Table string

	// MaxCell is the largest frame in bytes that is stored. A larger value stays in the process
	// that loaded it. If zero, it is 1 MB in SQLite, 64 KB in PostgreSQL.
	MaxCell int

	// MaxBytes bounds the bytes of all keys and frames together. Beyond it, the tier removes the
	// values that expire first. The database's own overhead comes on top. The table may exceed the
	// bound for a while: by a few percent, or by 64 cells of each process if that is more. If zero,
	// it is DefaultMaxBytes.
	MaxBytes int64

	// Now is the clock for SQLite, for tests. If nil, it is time.Now. PostgreSQL has its own clock.
	Now func() time.Time
}

// Tier is a [tier.Remote] in a SQL database. The zero Tier fails every call. All methods may be
// called concurrently.
//
// The errors of its methods name the operation, and wrap the error of the database or of ctx.
// They never contain a key or a payload.
type Tier struct {
	db, readers *sql.DB
	cfg         Config
	sql         statements
	err         error // why the configuration is refused

	preparing sync.Mutex
	prepared  atomic.Pointer[[statementCount]*sql.Stmt]
	sweeper   sweeper
	large     atomic.Int64
}

var _ tier.Remote = (*Tier)(nil)

// New returns a tier that keeps its cells in db. It sends nothing to the database. The caller
// keeps the pools: the tier neither changes nor closes them. [Tier.Validate] and every call
// report what is wrong with the configuration.
func New(db *sql.DB, cfg Config) *Tier {
	t := &Tier{db: db, readers: cmp.Or(cfg.Readers, db), cfg: cfg, err: cfg.check(db)}
	t.cfg.Table = cmp.Or(cfg.Table, DefaultTable)
	t.cfg.MaxBytes = cmp.Or(cfg.MaxBytes, DefaultMaxBytes)
	if cfg.MaxCell == 0 {
		t.cfg.MaxCell = defaultMaxCellSQLite
		if cfg.Dialect == Postgres {
			t.cfg.MaxCell = defaultMaxCellPostgres
		}
	}
	if cfg.Now == nil {
		t.cfg.Now = time.Now
	}
	t.sql = newStatements(cfg.Dialect, t.cfg.Table)
	t.sweeper.left.Store(1 + rand.N(int64(sweepLeast))) // random, so short-lived processes sweep, too
	return t
}

var tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*\.)?[A-Za-z_][A-Za-z0-9_]*$`)

// check returns all faults, joined.
func (c *Config) check(db *sql.DB) error {
	var errs []error
	refuse := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
		}
	}
	refuse(db == nil, "New was given no database; pass the *sql.DB that writes")
	refuse(c.Dialect != SQLite && c.Dialect != Postgres, "Dialect is %d; set SQLite or Postgres", c.Dialect)
	refuse(c.Table != "" && !tableName.MatchString(c.Table), // the name becomes part of statements
		"Table has %d bytes and is not a name; use letters, digits and underscores, and one dot after a schema", len(c.Table))
	refuse(sqltext.Reserved(c.Dialect.String(), c.Table), "Table is %.50q, which is a reserved word of %v; add a prefix, as in twofold_%.50s",
		c.Table, c.Dialect, c.Table)
	refuse(c.Dialect == SQLite && strings.Contains(c.Table, "."), "Table names a schema; SQLite needs only the table's name")
	refuse(c.MaxCell < 0, "MaxCell is %d; set a number of bytes, or 0 for the default", c.MaxCell)
	refuse(c.MaxBytes < 0, "MaxBytes is %d; set a number of bytes, or 0 for the default", c.MaxBytes)
	refuse(c.Now != nil && c.Dialect == Postgres, "Now is set; PostgreSQL uses its own clock, so leave it nil")
	return errors.Join(errs...)
}

// Validate returns everything that is wrong with the configuration, joined, or nil. It also
// checks the table, for at most a second. A missing table is [ErrSchema]. When the database does
// not answer, Validate does not report that.
func (t *Tier) Validate() error {
	if err := t.refused(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := t.Ping(ctx); errors.Is(err, ErrSchema) {
		return err
	}
	return nil
}

// Describe returns the dialect and the table as the tier's name.
func (t *Tier) Describe(tier.Remote) tier.Description {
	return tier.Description{Name: t.cfg.Dialect.String() + " " + t.cfg.Table}
}

// Ping reports whether the database answers and has the table.
func (t *Tier) Ping(ctx context.Context) error {
	if err := t.ready(ctx); err != nil {
		return fail("ping", err)
	}
	return fail("ping", t.one(ctx, nil, ping, nil, new(int)))
}

// Stats counts what this process has done since New.
type Stats struct {
	TooLarge    int64 // frames over MaxCell, which were not stored
	Expired     int64 // rows removed because they had expired
	Evicted     int64 // rows removed because of MaxBytes
	SweepErrors int64 // sweeps that failed; no guarantee depends on them
	Rows, Bytes int64 // in the table when this process last measured it
}

// Stats returns the counters. It never waits and may be called at any time.
func (t *Tier) Stats() Stats {
	s := &t.sweeper
	return Stats{
		TooLarge: t.large.Load(), Expired: s.expired.Load(), Evicted: s.evicted.Load(), SweepErrors: s.errs.Load(),
		Rows: s.rows.Load(), Bytes: s.bytes.Load(),
	}
}

// refused returns why no call can succeed.
func (t *Tier) refused() error {
	if t.err == nil && t.db == nil {
		return fmt.Errorf("%w: a zero Tier; make one with New", ErrConfig)
	}
	return t.err
}

func (t *Tier) ready(ctx context.Context) error {
	if err := t.refused(); err != nil {
		return err
	}
	return ctx.Err()
}
