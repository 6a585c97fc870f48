package triggers

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/twofold-go/twofold/internal/sqltext"
)

// column is a column as a catalog describes it.
type column struct {
	name, kind string // its type
	reason     string // why it cannot name a key or a tag; empty if it can
}

// constraint is a unique constraint.
type constraint struct {
	name    string
	columns []string
	odd     bool // it is on an expression, or has its own collation
}

// found is what a catalog says about a table.
type found struct {
	there   bool
	kind    string // why it cannot have the triggers; empty if it can
	columns []column
	unique  []constraint
	faults  []string // of this database only
	session string   // MariaDB: the schema of the connection
}

// tableFaults compares a Table with the catalog.
func (c *target) tableFaults(ctx context.Context, conn *sql.Conn, m *mapped) (errs []error, err error) {
	f, err := c.find(ctx, conn, m)
	switch {
	case err != nil:
		return nil, err
	case !f.there:
		return []error{m.fault("Name is %q, and the database has no such table: migrate first, or correct the name", m.shown())}, nil
	case f.kind != "":
		return []error{m.fault("Name is %q, which is %s", m.shown(), f.kind)}, nil
	}
	fields, columns, values := m.named()
	for i, name := range columns {
		at := f.at(name)
		switch {
		case at < 0:
			errs = append(errs, m.fault("%s is %q, and table %q has no such column; upper and lower case matter", fields[i], name, m.shown()))
		case i < values && f.columns[at].reason != "":
			errs = append(errs, m.fault("%s is %q of type %s: %s", fields[i], name, f.columns[at].kind, f.columns[at].reason))
		}
	}
	for _, fault := range append(f.faults, c.uniqueFaults(m, &f)...) {
		errs = append(errs, m.fault("%s", fault))
	}
	return errs, nil
}

// at returns the index of a column, or -1.
func (f *found) at(name string) int {
	return slices.IndexFunc(f.columns, func(c column) bool { return c.name == name })
}

// find asks the catalog about a table.
func (c *target) find(ctx context.Context, conn *sql.Conn, m *mapped) (f found, err error) {
	cat, names := catalogs[c.dialect], c.about(m)
	ask := func(question string) (rows [][]string) {
		if err == nil && question != "" {
			rows, err = c.ask(ctx, conn, m, question, names)
		}
		return rows
	}
	for _, r := range ask(cat.kind) {
		f.there, f.kind = true, r[0]
	}
	if sqltext.Says(err, sqltext.NoTable) { // SQLite: no schema of that name is attached
		return f, nil
	}
	if !f.there || f.kind != "" {
		return f, err
	}
	for _, r := range ask(cat.columns) {
		col := column{name: r[0], kind: r[1], reason: r[2]}
		if r[2] == "" && r[3] == "text" {
			names["column"] = sqltext.Quote(c.dialect, col.name)
			for _, same := range ask(cat.collates) {
				col.reason = same[0]
			}
		}
		f.columns = append(f.columns, col)
	}
	if c.dialect == sqltext.MariaDB {
		for _, r := range ask(mariadbSession) {
			f.session = r[0]
		}
	}
	for _, r := range ask(cat.unique) {
		f.addUnique(r[0], r[1], r[2])
	}
	if !m.Cascades {
		for _, r := range ask(cat.cascades) {
			f.faults = append(f.faults, fmt.Sprintf("Cascades is false, and foreign key %q of table %q removes or changes rows without a trigger; "+
				"use RESTRICT, or invalidate with the other table's rows and set Cascades", r[0], m.shown()))
		}
	}
	return f, err
}

// addUnique adds a column of a unique constraint. Those of one constraint follow each other. The
// collation is empty if it is that of the column.
func (f *found) addUnique(name, column, collation string) {
	if n := len(f.unique); n == 0 || f.unique[n-1].name != name {
		f.unique = append(f.unique, constraint{name: name})
	}
	u, at := &f.unique[len(f.unique)-1], f.at(column)
	u.columns = append(u.columns, column)
	u.odd = u.odd || at < 0 || collation != "" && f.columns[at].reason != collates
}

// uniqueFaults compares Table.Unique with the unique constraints. PostgreSQL needs a key to match rows
// for Only, and SQLite each constraint.
func (c *target) uniqueFaults(m *mapped, f *found) (faults []string) {
	refuse := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch c.dialect {
	case sqltext.Postgres:
		within := func(u constraint) bool {
			return !slices.ContainsFunc(u.columns, func(c string) bool { return !slices.Contains(m.Unique[0], c) })
		}
		if slices.ContainsFunc(m.Rows, func(r Row) bool { return len(r.Only) > 0 }) && !slices.ContainsFunc(f.unique, within) {
			refuse("Unique[0] has %d columns, and table %q has no unique index of them alone; Only needs the columns of the primary key there", len(m.Unique[0]), m.shown())
		}
	case sqltext.SQLite:
		home := cmp.Or(m.Schema, "main")
		if outbox := cmp.Or(c.schema, "main"); !strings.EqualFold(outbox, home) {
			refuse("Schema is %q and the outbox is in %q: a trigger of SQLite writes to its own file alone; put both into one file", home, outbox)
		}
		for _, u := range f.unique {
			switch {
			case u.odd:
				refuse("Unique cannot name index %q, which is on an expression or has its own collation: triggers do not see the rows that INSERT OR REPLACE removes by it; use a column", u.name)
			case !slices.ContainsFunc(m.Unique, u.is):
				refuse("Unique does not name the unique columns %q of table %q, by which INSERT OR REPLACE may remove a row; add them", u.columns, m.shown())
			}
		}
		f.unique = slices.DeleteFunc(f.unique, func(u constraint) bool { return u.odd })
		for i, columns := range m.Unique {
			if len(f.unique) > 0 && !slices.ContainsFunc(f.unique, func(u constraint) bool { return u.is(columns) }) {
				refuse("Unique[%d] is %q, which are not the columns of a unique constraint of table %q; correct it", i, columns, m.shown())
			}
		}
	case sqltext.MariaDB:
		if c.schema == "" && m.Schema != "" && m.Schema != f.session {
			refuse("Schema is %q and the outbox is in %q: a trigger of MariaDB looks for it in the schema of its table; set Tables.Schema of the sqllog.Config", m.Schema, f.session)
		}
	}
	return faults
}

// is reports whether a constraint has these columns, in any order.
func (u *constraint) is(columns []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(u.columns)), slices.Sorted(slices.Values(columns)))
}

// shown returns the name of the table for errors.
func (m *mapped) shown() string { return strings.TrimPrefix(m.Schema+"."+m.Name, ".") }
