package sqllog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"time"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
)

// The defaults and limits of a [Config].
const (
	DefaultNamespace = "default"
	MaxNamespace     = 64 // bytes

	DefaultBound = 2 * time.Second
	MinBound     = 100 * time.Millisecond
	MaxBound     = time.Minute

	DefaultPoll = 100 * time.Millisecond
	MinPoll     = time.Millisecond

	DefaultRetain = 50_000
	MinRetain     = 100
	MaxRetain     = 10_000_000
)

// Dialect is the kind of database that holds a log. The zero Dialect is refused.
type Dialect uint8

// The dialects.
const (
	Postgres Dialect = iota + 1 // PostgreSQL 13 or newer
	SQLite                      // SQLite 3.38 or newer, in WAL mode where several processes use the file
	MariaDB                     // MariaDB 10.6 or newer, with InnoDB; MySQL was not tested
)

// String returns the name of the folder of the dialect's migrations.
func (d Dialect) String() string {
	switch d {
	case Postgres:
		return sqltext.Postgres
	case SQLite:
		return sqltext.SQLite
	case MariaDB:
		return sqltext.MariaDB
	}
	return "none"
}

// Tables names the three tables of a log. An empty name means its default. Names consist of
// letters, digits and underscores; statements do not quote them.
type Tables struct {
	Schema string // the schema of the tables; if empty, the connection's own
	Outbox string // rows that wait for a number; if empty, twofold_outbox
	Log    string // numbered records; if empty, twofold_log
	Meta   string // one row per namespace; if empty, twofold_meta
}

// Config says how a [Log] uses its database. Dialect is required; the zero value of
// every other field is useful.
type Config struct {
	// Dialect is the kind of database.
	Dialect Dialect

	// Namespace separates logs in the same tables: letters, digits, dots, dashes and
	// underscores, at most MaxNamespace bytes. If empty, it is DefaultNamespace.
	Namespace string

	// Tables names the tables.
	Tables Tables

	// Bound is how long a process may trust what it knows after a Sync, between MinBound and
	// MaxBound. Use the same Bound in all processes of one log. If zero, it is DefaultBound.
	Bound time.Duration

	// Poll is how often a Tail looks for rows of other processes, between MinPoll and
	// MaxBound. A short Poll makes invalidations arrive sooner; no guarantee depends on it.
	// A Tail looks at least once in a quarter of Bound, so a longer Poll changes nothing. If zero,
	// it is DefaultPoll.
	Poll time.Duration

	// Retain is the least number of records that each sequence keeps, between MinRetain and
	// MaxRetain. A process that missed more discards what it holds. If zero, it is DefaultRetain.
	Retain int

	// Wait waits until another process may have numbered rows; package sqlpgx has one for
	// PostgreSQL. Tail calls it, one call at a time, with a context that ends when Tail
	// returns. Tail polls as well. If Wait is nil or fails, Tail only polls.
	Wait func(context.Context) error

	// Readers is a second pool on the same SQLite file, for statements that only read. They
	// then do not wait for the writer. If nil, they use the log's pool. Only SQLite uses it.
	Readers *sql.DB

	// Logger gets an error line for the first row that does not parse, and what Watch of package
	// triggers finds. If nil, it is slog.Default().
	Logger *slog.Logger
}

// filled returns the configuration with its defaults.
func (c Config) filled() Config {
	c.Namespace = cmp.Or(c.Namespace, DefaultNamespace)
	c.Bound = cmp.Or(c.Bound, DefaultBound)
	c.Poll = cmp.Or(c.Poll, DefaultPoll)
	c.Retain = cmp.Or(c.Retain, DefaultRetain)
	c.Tables.Outbox = cmp.Or(c.Tables.Outbox, outbox.DefaultTable)
	c.Tables.Log = cmp.Or(c.Tables.Log, "twofold_log")
	c.Tables.Meta = cmp.Or(c.Tables.Meta, "twofold_meta")
	return c
}

var (
	identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,47}$`)
	namespace  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
)

// Validate returns everything that is wrong with the configuration, joined, or nil. Each fault wraps
// [ErrConfig].
func (c Config) Validate() error {
	c = c.filled()
	var errs []error
	refuse := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
	}
	if c.Dialect < Postgres || c.Dialect > MariaDB {
		refuse("Dialect is %d; set Postgres, SQLite or MariaDB", c.Dialect)
	}
	if !namespace.MatchString(c.Namespace) {
		refuse("Namespace has %d bytes; use 1 to %d letters, digits, dots, dashes and underscores", len(c.Namespace), MaxNamespace)
	}
	c.checkTables(refuse)
	if c.Bound < MinBound || c.Bound > MaxBound {
		refuse("Bound is %v; use %v to %v", c.Bound, MinBound, MaxBound)
	}
	if c.Poll < MinPoll || c.Poll > MaxBound {
		refuse("Poll is %v; use %v to %v", c.Poll, MinPoll, MaxBound)
	}
	if c.Retain < MinRetain || c.Retain > MaxRetain {
		refuse("Retain is %d; use %d to %d records", c.Retain, MinRetain, MaxRetain)
	}
	if c.Readers != nil && c.Dialect != SQLite {
		refuse("Readers is set for %v; it is for SQLite alone", c.Dialect)
	}
	return errors.Join(errs...)
}

func (c *Config) checkTables(refuse func(format string, args ...any)) {
	for _, name := range []struct{ field, value string }{
		{"Schema", cmp.Or(c.Tables.Schema, "none")},
		{"Outbox", c.Tables.Outbox}, {"Log", c.Tables.Log}, {"Meta", c.Tables.Meta},
	} {
		if !identifier.MatchString(name.value) { // the name becomes part of statements
			refuse("Tables.%s has %d bytes; use 1 to 48 letters, digits and underscores, and no digit first", name.field, len(name.value))
		}
		// A word after a dot, such as a table in a schema, need not be quoted.
		if sqltext.Reserved(c.Dialect.String(), name.value) && (name.field == "Schema" || c.Tables.Schema == "") {
			refuse("Tables.%s is a reserved word of %v; add a prefix, as in twofold_%.48s", name.field, c.Dialect, name.value)
		}
	}
	same := strings.EqualFold // databases that take both cases for one name would have one table
	if t := c.Tables; same(t.Outbox, t.Log) || same(t.Log, t.Meta) || same(t.Meta, t.Outbox) {
		refuse("Tables has one name twice, apart from upper and lower case; give each table its own")
	}
}
