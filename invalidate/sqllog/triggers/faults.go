package triggers

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/internal/sqltext"
)

// triggerFaults says what is wrong with the triggers of a table. What several lack is one fault.
func (c *target) triggerFaults(ctx context.Context, conn *sql.Conn, m *mapped) (faults []string, err error) {
	rows, err := c.faultyTriggers(ctx, conn, m)
	if err != nil {
		return nil, err
	}
	for len(rows) > 0 {
		table, fault, some := rows[0][1], rows[0][2], "trigger"
		var names []string
		rows = slices.DeleteFunc(rows, func(r [3]string) bool {
			same := r[1] == table && r[2] == fault
			if same {
				names = append(names, strconv.Quote(r[0]))
			}
			return same
		})
		if len(names) > 1 {
			some = "triggers"
		}
		faults = append(faults, fmt.Sprintf("table %q, %s %s: %s", table, some, strings.Join(names, ", "), fault))
	}
	return faults, nil
}

// faultyTriggers returns the name of each trigger that is not as it should be, its table, and the fault.
func (c *target) faultyTriggers(ctx context.Context, conn *sql.Conn, m *mapped) (faulty [][3]string, err error) {
	names := c.about(m)
	if c.dialect == sqltext.Postgres {
		names["source"] = sqltext.Literal(sqltext.Postgres, c.postgresSource(m))
		rows, err := c.ask(ctx, conn, m, postgresHave, names)
		for _, r := range rows {
			if r[2] != "" {
				faulty = append(faulty, [3]string(r))
			}
		}
		return faulty, err
	}
	rows, err := c.ask(ctx, conn, m, catalogs[c.dialect].triggers, names)
	if err != nil {
		return nil, err
	}
	have := map[string][]string{}
	for _, r := range rows {
		have[r[0]] = r
	}
	for _, t := range c.rowTriggers(m) {
		var fault string
		switch r := have[t.name]; {
		case r == nil:
			fault = "missing: " + first
		case !strings.HasSuffix(r[1], t.body):
			fault = "outdated: " + again
		default:
			if fault, err = c.makerFault(ctx, conn, m, r[2]); err != nil {
				return nil, err
			}
		}
		if fault != "" {
			faulty = append(faulty, [3]string{t.name, m.shown(), fault})
		}
	}
	return faulty, nil
}

// makerFault says what is wrong with the user whose rights a trigger of MariaDB has. The user is empty if it
// is that of the connection.
func (c *target) makerFault(ctx context.Context, conn *sql.Conn, m *mapped, maker string) (string, error) {
	if maker == "" {
		return "", nil
	}
	rows, err := c.ask(ctx, conn, m, mariadbUser, map[string]string{"user": sqltext.Literal(sqltext.MariaDB, maker)})
	switch {
	case sqltext.Says(err, sqltext.NoRight):
		return "", nil
	case err != nil || len(rows) > 0:
		return "", err
	}
	return fmt.Sprintf("the user %q that made it was dropped, and each write of the table fails: %s", maker, again), nil
}

// hasOutbox reports whether the triggers find the outbox.
func (c *target) hasOutbox(ctx context.Context, conn *sql.Conn) (bool, error) {
	m := &mapped{Table: Table{Schema: c.schema, Name: c.outbox}}
	rows, err := c.ask(ctx, conn, m, catalogs[c.dialect].outbox, c.about(m))
	if sqltext.Says(err, sqltext.NoTable) { // SQLite: no schema of that name is attached
		return false, nil
	}
	return len(rows) > 0, err
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
