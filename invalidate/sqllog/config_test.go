package sqllog_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/key"
)

// nowhere is a database that cannot be reached.
type nowhere struct{}

var errNowhere = errors.New("nowhere")

func (nowhere) Connect(context.Context) (driver.Conn, error) { return nil, errNowhere }
func (nowhere) Driver() driver.Driver                        { return nil }

func pool(t *testing.T) *sql.DB {
	t.Helper()
	db := sql.OpenDB(nowhere{})
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestZeroConfigHasDefaults(t *testing.T) {
	t.Parallel()
	l := sqllog.New(pool(t), sqllog.Config{Dialect: sqllog.Postgres})
	if err := l.Validate(); err != nil || l.Bound() != sqllog.DefaultBound {
		t.Errorf("Validate = %v, Bound = %v; want nil and the default", err, l.Bound())
	}
	if _, err := l.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{}); !errors.Is(err, errNowhere) {
		t.Errorf("Sync = %v, want what the database says", err)
	}
	if err := l.Tx(t.Context(), nil, nil, nil); !errors.Is(err, sqllog.ErrConfig) {
		t.Errorf("Tx without a database = %v, want ErrConfig", err)
	}
	if _, err := l.Replica(t.Context(), nil); !errors.Is(err, sqllog.ErrConfig) {
		t.Errorf("Replica without a database = %v, want ErrConfig", err)
	}
	if b := sqllog.New(nil, sqllog.Config{Bound: time.Hour}).Bound(); b != time.Hour {
		t.Errorf("Bound = %v, want what the Config says, which Validate refuses", b)
	}
}

// A reserved word would fail in every statement. Validate says so.
func TestReservedTables(t *testing.T) {
	t.Parallel()
	db := pool(t)
	for _, tt := range []struct {
		dialect sqllog.Dialect
		tables  sqllog.Tables
		field   string // "": accepted
	}{
		{sqllog.Postgres, sqllog.Tables{Outbox: "Order"}, "Tables.Outbox"},
		{sqllog.Postgres, sqllog.Tables{Schema: "user"}, "Tables.Schema"},
		{sqllog.Postgres, sqllog.Tables{Schema: "app", Outbox: "order"}, ""},
		{sqllog.MariaDB, sqllog.Tables{Meta: "keys"}, "Tables.Meta"},
		{sqllog.SQLite, sqllog.Tables{Log: "index"}, "Tables.Log"},
	} {
		err := sqllog.New(db, sqllog.Config{Dialect: tt.dialect, Tables: tt.tables}).Validate()
		said := err != nil && strings.Contains(err.Error(), "reserved word")
		if said != (tt.field != "") || said && (!errors.Is(err, sqllog.ErrConfig) || !strings.Contains(err.Error(), tt.field+" is a reserved word")) {
			t.Errorf("%v %+v: Validate = %v, want an error about %q", tt.dialect, tt.tables, err, tt.field)
		}
	}
}

// Each fault names its field and what to do. All faults are reported together.
func TestFaults(t *testing.T) {
	t.Parallel()
	db := pool(t)
	var all sqllog.Config
	for field, set := range map[string]func(c *sqllog.Config){
		"Dialect":       func(c *sqllog.Config) { c.Dialect = 9 },
		"Namespace":     func(c *sqllog.Config) { c.Namespace = "secret!" },
		"Tables.Schema": func(c *sqllog.Config) { c.Tables.Schema = "a b" },
		"Tables.Outbox": func(c *sqllog.Config) { c.Tables.Outbox = "secret;" },
		"Tables.Log":    func(c *sqllog.Config) { c.Tables.Log = "1a" },
		"Tables.Meta":   func(c *sqllog.Config) { c.Tables.Meta = strings.Repeat("a", 49) },
		"Bound":         func(c *sqllog.Config) { c.Bound = time.Millisecond },
		"Poll":          func(c *sqllog.Config) { c.Poll = time.Hour },
		"Retain":        func(c *sqllog.Config) { c.Retain = 1 },
		"Readers":       func(c *sqllog.Config) { c.Readers = db },
	} {
		one := sqllog.Config{Dialect: sqllog.Postgres}
		set(&one)
		set(&all)
		err := sqllog.New(db, one).Validate()
		if !errors.Is(err, sqllog.ErrConfig) || !strings.Contains(err.Error(), field) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: Validate = %v, want ErrConfig with the field and without its text", field, err)
		}
	}
	for _, c := range []sqllog.Config{{Tables: sqllog.Tables{Outbox: "a", Log: "a"}}, {Tables: sqllog.Tables{Outbox: "TWOFOLD_LOG"}}, {Tables: sqllog.Tables{Outbox: "a", Meta: "A"}}, {Bound: -1}, {Poll: -1}, {Retain: -1}} {
		c.Dialect = sqllog.SQLite
		if err := sqllog.New(db, c).Validate(); !errors.Is(err, sqllog.ErrConfig) {
			t.Errorf("Validate of %+v = %v, want ErrConfig", c, err)
		}
	}
	err := sqllog.New(nil, all).Validate()
	for _, field := range []string{"db", "Dialect", "Namespace", "Schema", "Outbox", "Log", "Meta", "Bound", "Poll", "Retain", "Readers"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("Validate of all faults does not name %s: %v", field, err)
		}
	}
}

// Every call of a log that cannot work returns the reason.
func TestRefusedLog(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*sqllog.Log{"a bad configuration": sqllog.New(nil, sqllog.Config{}), "the zero Log": {}} {
		_, sync := l.Sync(t.Context(), invalidate.Cursor{}, invalidate.Append{})
		_, tail := l.Tail(t.Context(), invalidate.Cursor{})
		_, replica := l.Replica(t.Context(), nil)
		for call, err := range map[string]error{
			"Validate": l.Validate(), "Sync": sync, "Tail": tail, "Replica": replica,
			"Append":   l.Append(t.Context(), &execs{}, invalidate.All()),
			"Tx":       l.Tx(t.Context(), nil, nil, func(*sqllog.Tx) error { return nil }),
			"Install":  l.Install(t.Context()),
			"NewEpoch": l.NewEpoch(t.Context()),
		} {
			if !errors.Is(err, sqllog.ErrConfig) {
				t.Errorf("%s of %s = %v, want ErrConfig", call, name, err)
			}
		}
		if l.Bound() != sqllog.DefaultBound {
			t.Errorf("Bound of %s = %v", name, l.Bound())
		}
		l.Committed()
		l.Committed() // no Tail listens
		_ = l.Stats()
	}
}

// An append that does not fit into a record is refused without asking the database.
func TestBadAppend(t *testing.T) {
	t.Parallel()
	l := sqllog.New(pool(t), sqllog.Config{Dialect: sqllog.MariaDB})
	k, err := key.Parse("t:n:1")
	if err != nil {
		t.Fatal(err)
	}
	one := invalidate.Fence{Scope: invalidate.Key(k)}
	tag := invalidate.Fence{Scope: invalidate.Tag("t", "x")}
	for name, a := range map[string]invalidate.Append{
		"a tag among keys":   {Keys: []invalidate.Fence{tag}},
		"a key among scopes": {Scopes: []invalidate.Fence{one}},
		"no scope":           {Scopes: []invalidate.Fence{{}}},
		"an invalid scope":   {Keys: []invalidate.Fence{one}, Scopes: []invalidate.Fence{{Scope: invalidate.Tag("t", "")}}},
		"too many":           {Keys: slices.Repeat([]invalidate.Fence{one}, invalidate.MaxFences+1)},
	} {
		if _, err := l.Sync(t.Context(), invalidate.Cursor{}, a); !errors.Is(err, sqllog.ErrAppend) {
			t.Errorf("Sync with %s = %v, want ErrAppend", name, err)
		}
	}
}
