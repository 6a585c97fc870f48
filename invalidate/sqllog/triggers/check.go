package sqllog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
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
// SQLite, it has changed nothing. On MariaDB, an error of the check has changed nothing.
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

// triggerFaults says what is wrong with the triggers of a table.
func (c *Config) triggerFaults(ctx context.Context, conn *sql.Conn, m *mapped) (faults []string, err error) {
	names := c.about(m)
	if c.Dialect == Postgres {
		names["source"] = literal(Postgres, c.postgresSource(m))
		rows, err := c.ask(ctx, conn, m, postgresHave, names)
		for _, r := range rows {
			if r[2] != "" {
				faults = append(faults, fmt.Sprintf("trigger %q of table %q %s", r[0], r[1], r[2]))
			}
		}
		return faults, err
	}
	rows, err := c.ask(ctx, conn, m, catalogs[c.Dialect].triggers, names)
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	for _, r := range rows {
		have[r[0]] = r[1]
	}
	for _, t := range c.rowTriggers(m) {
		switch body, ok := have[t.name]; {
		case !ok:
			faults = append(faults, fmt.Sprintf("trigger %q of table %q is missing: apply the migration with the text of Triggers", t.name, m.shown()))
		case !strings.HasSuffix(body, t.body):
			faults = append(faults, fmt.Sprintf("trigger %q of table %q is outdated: "+again, t.name, m.shown()))
		}
	}
	return faults, nil
}

// about returns what stands for the names in a question about a table.
func (c *Config) about(m *mapped) map[string]string {
	table := quotedName(marks[c.Dialect], c.home(m), m.Name)
	if c.Dialect == Postgres {
		table = "to_regclass(" + literal(Postgres, table) + ")"
	}
	return map[string]string{
		"table": table, "home": doubled(`"`, c.home(m)),
		"trigger": literal(Postgres, m.trigger), "outbox": literal(Postgres, c.Tables.qualified(c.Tables.Outbox)),
	}
}

// home returns the schema of a table, empty if that of the session is meant. In SQLite that would be a
// temporary table, if there is one of the name.
func (c *Config) home(m *mapped) string {
	if c.Dialect == SQLite {
		return cmp.Or(m.Schema, "main")
	}
	return m.Schema
}

// ask asks a question about a table. The answer has only texts.
func (c *Config) ask(ctx context.Context, conn *sql.Conn, m *mapped, question string, names map[string]string) (answer [][]string, err error) {
	q := rebind(c.Dialect, question)
	var args []any
	if q.text != question {
		args = q.args(c.home(m), []any{m.Name})
	}
	rows, err := conn.QueryContext(ctx, replaceAll(q.text, names), args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		var r [4]string // no question has more
		to := []any{&r[0], &r[1], &r[2], &r[3]}
		columns, _ := rows.Columns() // there are rows
		if err := rows.Scan(to[:len(columns)]...); err != nil {
			return nil, err
		}
		answer = append(answer, r[:])
	}
	return answer, rows.Err()
}
