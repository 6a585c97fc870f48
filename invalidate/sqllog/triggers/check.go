package triggers

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate/sqllog"
)

// Check returns nil if tables have the triggers of [SQL], enabled and of the same text, and if these
// triggers can do what the Tables say. It changes nothing. Call it when a program starts, and after a
// migration. db is the log's database, and cfg is that of the log.
//
// An error wraps [ErrTable] if a Table does not fit its table: a table or a column is missing, or a
// column has a type that cannot name a key. It wraps [ErrNotInstalled] if triggers are missing,
// disabled, outdated or without the right to write to the outbox. Its text says which, and how to
// repair it. It reports all faults, joined.
func Check(ctx context.Context, db *sql.DB, cfg sqllog.Config, tables ...Table) error {
	return withTables(ctx, "check", db, cfg, tables, func(conn *sql.Conn, to *target, all []mapped) error {
		var errs []error
		for i := range all {
			faults, err := to.triggerFaults(ctx, conn, &all[i])
			if err != nil {
				return err
			}
			for _, f := range faults {
				errs = append(errs, fmt.Errorf("%w: %s", ErrNotInstalled, f))
			}
		}
		return errors.Join(errs...)
	})
}

// Install checks tables as [Check] does, and then runs what [SQL] returns. It is for tests and for
// programs without migrations. When it fails on PostgreSQL or SQLite, it has changed nothing. On
// MariaDB, an error of the check has changed nothing.
func Install(ctx context.Context, db *sql.DB, cfg sqllog.Config, tables ...Table) error {
	return withTables(ctx, "install", db, cfg, tables, func(conn *sql.Conn, to *target, all []mapped) error {
		return sqltext.Install(ctx, func(ctx context.Context) error { return to.install(ctx, conn, all) })
	})
}

func (c *target) install(ctx context.Context, conn *sql.Conn, all []mapped) error {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing is left to roll back after COMMIT
	if c.dialect == sqltext.Postgres {
		if _, err := tx.ExecContext(ctx, postgresOneByOne); err != nil {
			return err
		}
	}
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

// postgresOneByOne makes processes that start together install one after the other. PostgreSQL fails one
// of two that replace the same function. The number is any that no application uses.
const postgresOneByOne = "SELECT pg_catalog.pg_advisory_xact_lock(7169223408216654445)"

// withTables calls do with tables that pass their check in the database.
func withTables(ctx context.Context, op string, db *sql.DB, cfg sqllog.Config, tables []Table, do func(*sql.Conn, *target, []mapped) error) error {
	to, all, err := prepare(cfg, tables)
	switch {
	case err != nil:
		return err
	case db == nil:
		return fmt.Errorf("%w: db is nil; pass the log's database", sqllog.ErrConfig)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fail(op, err)
	}
	defer conn.Close() //nolint:errcheck // the pool has it back
	var errs []error
	for i := range all {
		faults, err := to.tableFaults(ctx, conn, &all[i])
		if err != nil {
			return fail(op, err)
		}
		errs = append(errs, faults...)
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return fail(op, do(conn, to, all))
}

// fail names the operation, and adds what an error of a database means.
func fail(op string, err error) error {
	switch {
	case err == nil:
		return nil
	case sqltext.Says(err, sqltext.Pooled):
		err = fmt.Errorf("%w: %w", sqltext.ErrPooled, err)
	}
	return fmt.Errorf("triggers: %s: %w", op, err)
}

// triggerFaults says what is wrong with the triggers of a table.
func (c *target) triggerFaults(ctx context.Context, conn *sql.Conn, m *mapped) (faults []string, err error) {
	names := c.about(m)
	if c.dialect == sqltext.Postgres {
		names["source"] = sqltext.Literal(sqltext.Postgres, c.postgresSource(m))
		rows, err := c.ask(ctx, conn, m, postgresHave, names)
		for _, r := range rows {
			if r[2] != "" {
				faults = append(faults, fmt.Sprintf("trigger %q of table %q %s", r[0], r[1], r[2]))
			}
		}
		return faults, err
	}
	rows, err := c.ask(ctx, conn, m, catalogs[c.dialect].triggers, names)
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
			faults = append(faults, fmt.Sprintf("trigger %q of table %q is missing: apply the migration with the text of SQL", t.name, m.shown()))
		case !strings.HasSuffix(body, t.body):
			faults = append(faults, fmt.Sprintf("trigger %q of table %q is outdated: "+again, t.name, m.shown()))
		}
	}
	return faults, nil
}

// about returns what stands for the names in a question about a table.
func (c *target) about(m *mapped) map[string]string {
	table := sqltext.QuoteAll(c.dialect, c.home(m), m.Name)
	if c.dialect == sqltext.Postgres {
		table = "to_regclass(" + sqltext.Literal(sqltext.Postgres, table) + ")"
	}
	return map[string]string{
		"table": table, "home": sqltext.Quote(sqltext.SQLite, c.home(m)),
		"trigger": sqltext.Literal(sqltext.Postgres, m.trigger), "outbox": sqltext.Literal(sqltext.Postgres, sqltext.Qualified(c.schema, c.outbox)),
	}
}

// home returns the schema of a table, empty if that of the session is meant. In SQLite that would be a
// temporary table, if there is one of the name.
func (c *target) home(m *mapped) string {
	if c.dialect == sqltext.SQLite {
		return cmp.Or(m.Schema, "main")
	}
	return m.Schema
}

// ask asks a question about a table. The answer has only texts.
func (c *target) ask(ctx context.Context, conn *sql.Conn, m *mapped, question string, names map[string]string) (answer [][]string, err error) {
	q := sqltext.Rebind(c.dialect, question)
	var args []any
	if q.Text != question {
		args = q.Args(c.home(m), []any{m.Name})
	}
	rows, err := conn.QueryContext(ctx, sqltext.Fill(q.Text, names), args...)
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
