package triggers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/internal/sqltext"
)

// rowTriggers returns the triggers of a table in SQLite, MariaDB. They have a trigger for each
// row, and each writes one row of the outbox.
//
// In SQLite, INSERT OR REPLACE and UPDATE OR REPLACE remove rows, and fire a delete trigger only with
// PRAGMA recursive_triggers. So two more triggers look, before the statement, for the rows that it may
// remove.
func (c *target) rowTriggers(m *mapped) []trigger {
	all := []trigger{
		c.rowTrigger(m, "insert", "AFTER INSERT", c.rowValues(m, false, "NEW.")),
		c.rowTrigger(m, "update", "AFTER UPDATE", c.rowValues(m, true, "OLD.", "NEW.")),
		c.rowTrigger(m, "delete", "AFTER DELETE", c.rowValues(m, false, "OLD.")),
	}
	if c.dialect == sqltext.SQLite && len(m.Unique) > 0 {
		all = append(all,
			c.rowTrigger(m, "replace_i", "BEFORE INSERT", sqliteOthers(m, false)),
			c.rowTrigger(m, "replace_u", "BEFORE UPDATE", sqliteOthers(m, true)))
	}
	return all
}

// rowTrigger returns a trigger that names values. In MariaDB a body is one statement without a semicolon,
// so any tool can split the text. It has no comment, because some clients remove comments.
func (c *target) rowTrigger(m *mapped, suffix, event string, values []string) trigger {
	name := m.trigger + "_" + suffix
	named := sqltext.QuoteAll(c.dialect, m.Schema, name)
	t := trigger{name: name, drop: "DROP TRIGGER IF EXISTS " + named}
	ns := sqltext.Literal(c.dialect, c.namespace)
	if c.dialect == sqltext.SQLite {
		t.head = "CREATE TRIGGER " + named
		// GROUP BY makes that no row if there are no values.
		t.body = " " + event + " ON " + sqltext.Quote(sqltext.SQLite, m.Name) + " FOR EACH ROW BEGIN\n" + madeBy + "\n\tINSERT INTO " + c.outbox +
			" (ns, scopes) SELECT " + ns + ", '[' || group_concat(s.e) || ']' FROM (SELECT " + strings.Join(values, " UNION SELECT ") +
			") s WHERE length(s.e) <= " + strconv.Itoa(m.longest()) + " GROUP BY NULL;\nEND"
		return t
	}
	t.head = madeBy + "\nCREATE TRIGGER " + named + " " + event + " ON " + sqltext.QuoteAll(sqltext.MariaDB, m.Schema, m.Name) + " FOR EACH ROW\n"
	all := strings.Join(values, ", ") // a derived table would cost a file for each row
	t.body = "INSERT INTO " + sqltext.Qualified(c.schema, c.outbox) + " (ns, scopes) SELECT " + ns +
		", CONCAT('[', CONCAT_WS(',', " + all + "), ']') FROM DUAL WHERE COALESCE(" + all + ") IS NOT NULL"
	return t
}

// rowValues returns the elements of rows, NULL for those that an update does not name. MariaDB leaves out
// an element of the new row that the old row has too. SQLite has a UNION for that.
func (c *target) rowValues(m *mapped, update bool, rows ...string) (values []string) {
	for _, row := range rows {
		for _, e := range m.elements {
			var when []string
			if update && e.only != nil {
				when = append(when, changed(c.dialect, e.only))
			}
			if c.dialect == sqltext.SQLite {
				value := sqliteElement(&e, row)
				if len(when) > 0 {
					value = "CASE WHEN " + when[0] + " THEN " + value + " END"
				}
				values = append(values, value+" AS e")
				continue
			}
			value := e.spelled(sqltext.MariaDB, row)
			if update && row == "NEW." {
				when = append(when, changed(sqltext.MariaDB, e.columns))
			}
			if len(when) > 0 {
				value = "IF(" + strings.Join(when, " AND ") + ", " + value + ", NULL)"
			}
			values = append(values, value)
		}
	}
	return values
}

// changed is the condition that an update changes one of the columns. It compares values as they are
// stored: with the bytes of texts, which a collation may take for equal, and in SQLite with types.
func changed(d string, columns []string) string {
	same, parts := `OLD.{c} IS NOT NEW.{c} COLLATE BINARY OR typeof(OLD.{c}) <> typeof(NEW.{c})`, []string{}
	if d == sqltext.MariaDB {
		same = "OLD.{c} <=> NEW.{c} AND CAST(OLD.{c} AS BINARY) <=> CAST(NEW.{c} AS BINARY)"
	}
	for _, c := range slices.Compact(slices.Sorted(slices.Values(columns))) {
		parts = append(parts, strings.ReplaceAll(same, "{c}", sqltext.Quote(d, c)))
	}
	switch {
	case d == sqltext.SQLite:
		return "(" + strings.Join(parts, " OR ") + ")"
	case len(parts) == 0:
		return "FALSE"
	}
	return "NOT (" + strings.Join(parts, " AND ") + ")"
}

// sqliteOthers returns the elements of the other rows that have a unique value of the new row.
func sqliteOthers(m *mapped, update bool) (values []string) {
	equal := func(columns []string, with string) string {
		var all []string
		for _, c := range columns {
			all = append(all, "r."+sqltext.Quote(sqltext.SQLite, c)+with+sqltext.Quote(sqltext.SQLite, c))
		}
		return strings.Join(all, " AND ")
	}
	for _, columns := range m.Unique {
		others := " AS e FROM " + sqltext.Quote(sqltext.SQLite, m.Name) + " r WHERE " + equal(columns, " = NEW.")
		if update {
			others += " AND (" + equal(m.Unique[0], " = OLD.") + ") IS NOT TRUE" // rows with a NULL there are others
		}
		for _, e := range m.elements {
			values = append(values, sqliteElement(&e, "r.")+others)
		}
	}
	return values
}

// sqliteElement returns an expression for an element. A column may hold any type. A number with a
// fraction, and bytes, have no spelling, so the wider scope stands for them.
func sqliteElement(e *element, row string) string {
	exact := e.spelled(sqltext.SQLite, row)
	if len(e.columns) == 0 {
		return exact
	}
	odd := func(columns []string) string {
		var some []string
		for _, c := range columns {
			some = append(some, "typeof("+row+sqltext.Quote(sqltext.SQLite, c)+") IN ('real', 'blob')")
		}
		return strings.Join(some, " OR ")
	}
	text, wide := "CASE ", e.widest()
	if len(wide.columns) > 0 {
		text += "WHEN " + odd(wide.columns) + ` THEN '["a"]' `
	}
	if own := e.columns[len(wide.columns):]; len(own) > 0 {
		text += "WHEN " + odd(own) + " THEN " + wide.spelled(sqltext.SQLite, row) + " "
	}
	return text + "ELSE " + exact + " END"
}
