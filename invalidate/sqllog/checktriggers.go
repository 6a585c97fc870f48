package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/internal/sqlschema"
)

// CheckTriggers returns nil if tables have the triggers of [Triggers], enabled and of the same text,
// and if these triggers can do what the Tables say. It changes nothing. Call it when a program
// starts, and after a migration. db is the log's database.
//
// An error wraps [ErrTable] if a Table does not fit its table: a table or a column is missing, or a
// column has a type that cannot name a key. It wraps [ErrTriggers] if triggers are missing,
// disabled, outdated or without the right to write to the outbox. Its text says which, and how to
// repair it. It reports all faults, joined.
func (l *Log) CheckTriggers(ctx context.Context, db *sql.DB, tables ...Table) error {
	return l.withTables(ctx, "check triggers", db, tables, func(conn *sql.Conn, all []mapped) error {
		var errs []error
		for i := range all {
			faults, err := l.cfg.triggerFaults(ctx, conn, &all[i])
			if err != nil {
				return err
			}
			for _, f := range faults {
				errs = append(errs, fmt.Errorf("%w: %s", ErrTriggers, f))
			}
		}
		return errors.Join(errs...)
	})
}

// InstallTriggers checks tables as [Log.CheckTriggers] does, and then runs what [Log.Triggers]
// returns. It is for tests and for programs without migrations. When it fails on PostgreSQL or
// SQLite, it has changed nothing. On MySQL and MariaDB, an error of the check has changed nothing.
func (l *Log) InstallTriggers(ctx context.Context, db *sql.DB, tables ...Table) error {
	return l.withTables(ctx, "install triggers", db, tables, func(conn *sql.Conn, all []mapped) error {
		return sqlschema.Install(ctx, func(ctx context.Context) error { return l.cfg.installTriggers(ctx, conn, all) })
	})
}

func (c *Config) installTriggers(ctx context.Context, conn *sql.Conn, all []mapped) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing is left to roll back after COMMIT
	for i := range all {
		do, _ := c.statements(&all[i])
		for _, s := range do {
			if _, err := tx.ExecContext(ctx, s); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// withTables calls do with tables that pass their check in the database.
func (l *Log) withTables(ctx context.Context, op string, db *sql.DB, tables []Table, do func(*sql.Conn, []mapped) error) error {
	if err := l.Validate(); err != nil {
		return err
	}
	if db == nil {
		return fmt.Errorf("%w: db is nil; pass the log's database", ErrConfig)
	}
	all, err := mapTables(l.cfg.Dialect, tables)
	if err != nil {
		return err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fail(op, err)
	}
	defer conn.Close() //nolint:errcheck // the pool has it back
	var errs []error
	for i := range all {
		faults, err := l.cfg.tableFaults(ctx, conn, &all[i])
		if err != nil {
			return fail(op, err)
		}
		errs = append(errs, faults...)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return fail(op, do(conn, all))
}

// column is a column as a catalog describes it.
type column struct {
	name, kind string // its type
	reason     string // why it cannot name a key or a tag; empty if it can
}

// found is what a catalog says about a table.
type found struct {
	kind    string // why it cannot have the triggers; empty if it can
	columns []column
	unique  [][]string // the unique constraints
	faults  []string   // of this database only
}

// tableFaults compares a Table with the catalog.
func (c *Config) tableFaults(ctx context.Context, conn *sql.Conn, m *mapped) (errs []error, err error) {
	var f *found
	switch c.Dialect {
	case Postgres:
		f, err = postgresTable(ctx, conn, m)
	case SQLite:
		f, err = c.sqliteTable(ctx, conn, m)
	case MySQL:
		f, err = mysqlTable(ctx, conn, m)
	}
	if err != nil {
		return nil, err
	}
	if f == nil {
		return []error{m.fault("Name is %q, and the database has no such table: migrate first, or correct the name", m.shown())}, nil
	}
	if f.kind != "" {
		return []error{m.fault("Name is %q, which is %s", m.shown(), f.kind)}, nil
	}
	fields, columns, values := m.named()
	for i, name := range columns {
		at := slices.IndexFunc(f.columns, func(col column) bool { return col.name == name })
		switch {
		case at < 0:
			errs = append(errs, m.fault("%s is %q, and table %q has no such column; upper and lower case matter", fields[i], name, m.shown()))
		case i < values && f.columns[at].reason != "":
			errs = append(errs, m.fault("%s is %q of type %s: %s", fields[i], name, f.columns[at].kind, f.columns[at].reason))
		}
	}
	for _, fault := range f.faults {
		errs = append(errs, m.fault("%s", fault))
	}
	return errs, nil
}

// shown returns the name of the table for errors.
func (m *mapped) shown() string {
	if m.Schema == "" {
		return m.Name
	}
	return m.Schema + "." + m.Name
}

// Why a column cannot name a key or a tag.
const (
	notSpelled = "a key or a tag comes from an integer, text or UUID column; add a column with the text, or give the value a tag without a column"
	collates   = "its collation takes different texts for equal, so several keys find one row; use a binary collation, or name another column"
)

func sameColumns(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// triggerFaults says what is wrong with the triggers of a table.
func (c *Config) triggerFaults(ctx context.Context, conn *sql.Conn, m *mapped) ([]string, error) {
	if c.Dialect == Postgres {
		return c.postgresFaults(ctx, conn, m)
	}
	want, query, args := c.sqliteTriggers(m), sqliteTriggersQuery(m), []any{m.Name}
	if c.Dialect == MySQL {
		want, query, args = c.mysqlTriggers(m), mysqlTriggersQuery, []any{m.Schema, m.Schema, m.Name}
	}
	have := map[string]string{}
	err := eachRow(ctx, conn, query, args, func(scan func(...any) error) error {
		var name, body string
		err := scan(&name, &body)
		have[name] = body
		return err
	})
	if err != nil {
		return nil, err
	}
	var faults []string
	for _, t := range want {
		switch body, ok := have[t.name]; {
		case !ok:
			faults = append(faults, fmt.Sprintf("trigger %q of table %q is missing: apply the migration with the text of Triggers", t.name, m.shown()))
		case !strings.HasSuffix(body, t.body):
			faults = append(faults, fmt.Sprintf("trigger %q of table %q is outdated: migrate again with the text of Triggers", t.name, m.shown()))
		}
	}
	return faults, nil
}

// eachRow calls do for each row of a result.
func eachRow(ctx context.Context, conn *sql.Conn, query string, args []any, do func(scan func(...any) error) error) error {
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		if err := do(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
