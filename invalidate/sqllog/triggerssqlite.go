package sqllog

import (
	"slices"
	"strconv"
	"strings"
)

// SQLite has a trigger for each row, and each writes one row of the outbox. INSERT OR REPLACE and
// UPDATE OR REPLACE remove rows, and fire a delete trigger only with PRAGMA recursive_triggers. So
// two more triggers look, before the statement, for the rows that it may remove.
func (c *Config) sqliteTriggers(m *mapped) []trigger {
	all := []trigger{
		c.sqliteTrigger(m, "insert", "AFTER INSERT", sqliteValues(m, false, "NEW.")),
		c.sqliteTrigger(m, "update", "AFTER UPDATE", sqliteValues(m, true, "OLD.", "NEW.")),
		c.sqliteTrigger(m, "delete", "AFTER DELETE", sqliteValues(m, false, "OLD.")),
	}
	if len(m.Unique) > 0 {
		all = append(all,
			c.sqliteTrigger(m, "replace_i", "BEFORE INSERT", sqliteOthers(m, false)),
			c.sqliteTrigger(m, "replace_u", "BEFORE UPDATE", sqliteOthers(m, true)))
	}
	return all
}

// sqliteTrigger returns a trigger that tells the elements e that a SELECT returns. GROUP BY makes
// that no row if there are none.
func (c *Config) sqliteTrigger(m *mapped, suffix, event, elements string) trigger {
	name := m.trigger + "_" + suffix
	named := quotedName(`"`, m.Schema, name)
	return trigger{
		name: name,
		drop: "DROP TRIGGER IF EXISTS " + named,
		head: "CREATE TRIGGER " + named,
		body: " " + event + " ON " + doubled(`"`, m.Name) + " FOR EACH ROW BEGIN\n" + madeBy + "\n\tINSERT INTO " + c.Tables.Outbox +
			" (ns, scopes) SELECT " + sqliteLiteral(c.Namespace) + ", '[' || group_concat(s.e) || ']' FROM (" + elements + ") s WHERE length(s.e) <= " + strconv.Itoa(m.longest()) + " GROUP BY NULL;\nEND",
	}
}

// sqliteValues returns a SELECT of the elements of rows, without duplicates.
func sqliteValues(m *mapped, update bool, rows ...string) string {
	var all []string
	for _, row := range rows {
		for _, e := range m.elements {
			value := sqliteElement(&e, row)
			if update && e.only != nil {
				value = "CASE WHEN " + sqliteChanged(e.only) + " THEN " + value + " END"
			}
			all = append(all, "SELECT "+value+" AS e")
		}
	}
	return strings.Join(all, " UNION ")
}

// sqliteOthers returns a SELECT of the elements of the other rows that have a unique value of the new
// row.
func sqliteOthers(m *mapped, update bool) string {
	var all, self []string
	for _, c := range m.Unique[0] {
		self = append(self, "r."+doubled(`"`, c)+" IS OLD."+doubled(`"`, c))
	}
	for _, columns := range m.Unique {
		var on []string
		for _, c := range columns {
			on = append(on, "r."+doubled(`"`, c)+" = NEW."+doubled(`"`, c))
		}
		if update {
			on = append(on, "NOT ("+strings.Join(self, " AND ")+")")
		}
		for _, e := range m.elements {
			all = append(all, "SELECT "+sqliteElement(&e, "r.")+" AS e FROM "+doubled(`"`, m.Name)+" r WHERE "+strings.Join(on, " AND "))
		}
	}
	return strings.Join(all, " UNION ")
}

// sqliteChanged compares as stored: with the bytes of texts, and with types.
func sqliteChanged(columns []string) string {
	var some []string
	for _, c := range slices.Compact(slices.Sorted(slices.Values(columns))) {
		old, now := "OLD."+doubled(`"`, c), "NEW."+doubled(`"`, c)
		some = append(some, old+" IS NOT "+now+" COLLATE BINARY", "typeof("+old+") <> typeof("+now+")")
	}
	return "(" + strings.Join(some, " OR ") + ")"
}

// sqliteElement returns an expression for an element. A column may hold any type. A number with a
// fraction, and bytes, have no spelling, so the wider scope stands for them.
func sqliteElement(e *element, row string) string {
	exact := sqliteConcat(e, row)
	if len(e.columns) == 0 {
		return exact
	}
	odd := func(columns []string) string {
		var some []string
		for _, c := range columns {
			some = append(some, "typeof("+row+doubled(`"`, c)+") IN ('real', 'blob')")
		}
		return strings.Join(some, " OR ")
	}
	text := "CASE "
	if w := e.widest(); len(w.columns) > 0 {
		text += "WHEN " + odd(w.columns) + ` THEN '["a"]' `
	}
	if own := e.columns[len(e.widest().columns):]; len(own) > 0 {
		text += "WHEN " + odd(own) + " THEN " + sqliteConcat(e.widest(), row) + " "
	}
	return text + "ELSE " + exact + " END"
}

func sqliteConcat(e *element, row string) string {
	parts := []string{sqliteLiteral(e.texts[0])}
	for i, c := range e.columns {
		c = row + doubled(`"`, c)
		parts = append(parts, "CASE typeof("+c+") WHEN 'integer' THEN "+c+" WHEN 'text' THEN json_quote('' || "+c+") END", sqliteLiteral(e.texts[i+1]))
	}
	return strings.Join(parts, " || ")
}

// sqliteLiteral quotes a text. A backslash means itself.
func sqliteLiteral(s string) string { return doubled("'", s) }
