package sqltier

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store/prepared"
	"github.com/twofold-go/twofold/tier"
)

// DefaultTable is where the cells are that no [Table] takes.
const DefaultTable = "cells"

// ErrConfig is wrapped by what [Tier.Validate] says.
var ErrConfig = errors.New("sqltier: bad configuration")

// Config says where the cells are. Writer and Readers are required.
type Config struct {
	// Writer writes. Its transactions must begin with the write lock
	// (_txlock=immediate), or two claims could read before either writes.
	Writer *sql.DB

	// Readers read. They may be the Writer.
	Readers *sql.DB

	// Tables take the cells whose keys start with their prefix, the first that fits.
	// The others are in DefaultTable.
	Tables []Table

	// Unkept are prefixes of keys that this tier does not keep: every process has its
	// own. Nil: none.
	Unkept []string

	// Now is the clock that claims and cells expire by. It has to run as time does:
	// not one that a demonstration speeds up. Nil: time.Now.
	Now func() time.Time
}

// Table is a table with the columns cell_key (TEXT, unique), cell (BLOB) and cell_until
// (INTEGER, in ms), and others that people read.
type Table struct {
	// Name is the table's, of letters, digits and underscores.
	Name string

	// Prefix is how the full keys start that belong here. Empty: all do.
	Prefix string

	// Columns are the names of the readable columns.
	Columns []string

	// Row returns the values of Columns for a cell that is about to be written: a
	// lease, for which only the key is known, a value, or the zero Cell for what is
	// none. Until is how long a value is kept; zero: as long as the cache asked for.
	// An error fails the write, and must not quote the payload. Nil: there are no
	// columns.
	//
	// A lease writes the columns of a row that it makes, and leaves those of a row
	// that is there.
	Row func(key string, c tier.Cell) (values []any, until time.Time, err error)

	// Keep is a condition on the columns, in SQL. A row for which it holds loses its
	// cell alone when that is released or expires: what people read there stays, and a
	// loader may find it. Unlink removes the row all the same. Empty: no row stays.
	Keep string
}

// Tier is a [tier.Remote] in SQLite. All methods may be called concurrently. Its errors
// say which operation failed, and never quote a key or a payload.
type Tier struct {
	cfg     Config
	writer  *prepared.Pool
	readers *prepared.Pool
	tables  []*table // the last one takes everything
	err     error    // why the configuration is refused
}

// table is a Table with its statements.
type table struct {
	Table
	get, put, lease, rewrite, release, drop, sweep string
}

var (
	_ tier.Remote    = (*Tier)(nil)
	_ tier.Namer     = (*Tier)(nil)
	_ tier.Pinger    = (*Tier)(nil)
	_ tier.Validator = (*Tier)(nil)
)

// New returns a tier. The pools stay the caller's. What is wrong with the configuration
// is reported by [Tier.Validate], and by every call.
func New(cfg Config) *Tier {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	t := &Tier{cfg: cfg, err: cfg.check(), writer: prepared.New(cfg.Writer), readers: prepared.New(cfg.Readers)}
	for _, def := range append(slices.Clip(cfg.Tables), Table{Name: DefaultTable}) {
		t.tables = append(t.tables, newTable(def))
	}
	return t
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (c *Config) check() error {
	var errs []error
	if c.Writer == nil || c.Readers == nil {
		errs = append(errs, fmt.Errorf("%w: Writer and Readers are required", ErrConfig))
	}
	for i, def := range c.Tables {
		if (def.Row == nil) != (len(def.Columns) == 0) {
			errs = append(errs, fmt.Errorf("%w: Tables[%d]: Row and Columns go together", ErrConfig, i))
		}
		for _, name := range append(slices.Clip(def.Columns), def.Name) {
			if !identifier.MatchString(name) { // they become part of statements
				errs = append(errs, fmt.Errorf("%w: Tables[%d]: a name of %d bytes is no identifier", ErrConfig, i, len(name)))
			}
		}
	}
	return errors.Join(errs...)
}

func newTable(def Table) *table {
	names := append([]string{"cell_key", "cell", "cell_until"}, def.Columns...)
	sets := make([]string, len(names))
	for i, name := range names {
		sets[i] = name + " = excluded." + name
	}
	keep := "0"
	if def.Keep != "" {
		keep = "(" + def.Keep + ")"
	}
	// Whatever is in the way, by its key or by another unique column, gives way: a row
	// that could neither be found nor be replaced would cost a load per read.
	insert := `INSERT INTO ` + def.Name + ` (` + strings.Join(names, ", ") + `)
		VALUES (?` + strings.Repeat(", ?", len(names)-1) + `) ON CONFLICT DO UPDATE SET `
	return &table{
		Table:   def,
		get:     `SELECT cell FROM ` + def.Name + ` WHERE cell_key = ? AND cell_until > ?`,
		put:     insert + strings.Join(sets, ", "),
		lease:   insert + strings.Join(sets[:3], ", "),
		rewrite: `UPDATE ` + def.Name + ` SET cell = ? WHERE cell_key = ?`,
		release: `UPDATE ` + def.Name + ` SET cell = x'', cell_until = 0 WHERE cell_key = ? AND ` + keep,
		drop:    `DELETE FROM ` + def.Name + ` WHERE cell_key = ?`,
		sweep:   `DELETE FROM ` + def.Name + ` WHERE cell_until <= ? AND NOT ` + keep,
	}
}

// Validate returns everything that is wrong with the configuration, joined, or nil.
func (t *Tier) Validate() error { return t.err }

// Ping reports whether the database answers.
func (t *Tier) Ping(ctx context.Context) error {
	if t.err != nil {
		return t.err
	}
	return fail("ping", t.cfg.Readers.PingContext(ctx))
}

// Names implements [tier.Namer]: the server is the pool that writes.
func (t *Tier) Names(keys []string) (server any, names []string) { return t.cfg.Writer, keys }

// tableOf returns the table of a key; nil: its cell is not kept.
func (t *Tier) tableOf(key string) *table {
	for _, prefix := range t.cfg.Unkept {
		if strings.HasPrefix(key, prefix) {
			return nil
		}
	}
	for _, tb := range t.tables {
		if strings.HasPrefix(key, tb.Prefix) {
			return tb
		}
	}
	return nil // not reached: the last table's prefix is empty
}

func fail(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqltier: %s: %w", op, err)
}
