package sqllog

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/twofold-go/twofold/key"
)

// MySQL and MariaDB have a trigger for each row, and each writes one row of the outbox. A body is one
// statement without a semicolon, so any tool can split the text. It has no comment, because some
// clients remove comments.
func (c *Config) mysqlTriggers(m *mapped) []trigger {
	return []trigger{
		c.mysqlTrigger(m, "insert", mysqlValues(m, "NEW.")),
		c.mysqlTrigger(m, "update", append(mysqlUpdates(m, "OLD."), mysqlUpdates(m, "NEW.")...)),
		c.mysqlTrigger(m, "delete", mysqlValues(m, "OLD.")),
	}
}

func (c *Config) mysqlTrigger(m *mapped, event string, values []string) trigger {
	name := m.trigger + "_" + event
	named := quotedName("`", m.Schema, name)
	return trigger{
		name: name,
		drop: "DROP TRIGGER IF EXISTS " + named,
		head: madeBy + "\nCREATE TRIGGER " + named + " AFTER " + strings.ToUpper(event) + " ON " + quotedName("`", m.Schema, m.Name) + " FOR EACH ROW\n",
		// A derived table would cost a file for each row.
		body: "INSERT INTO " + c.Tables.qualified(c.Tables.Outbox) + " (ns, scopes) SELECT " + mysqlLiteral(c.Namespace) +
			", CONCAT('[', CONCAT_WS(',', " + strings.Join(values, ", ") + "), ']') FROM DUAL WHERE COALESCE(" + strings.Join(values, ", ") + ") IS NOT NULL",
	}
}

// mysqlValues returns the elements of a row, NULL where a column is NULL.
func mysqlValues(m *mapped, row string) (values []string) {
	for _, e := range m.elements {
		values = append(values, mysqlElement(&e, row))
	}
	return values
}

// mysqlUpdates returns the elements of the old row or the new row of an UPDATE. An element of the new
// row that the old row has too is left out.
func mysqlUpdates(m *mapped, row string) (values []string) {
	for _, e := range m.elements {
		value := mysqlElement(&e, row)
		var when []string
		if e.only != nil {
			when = append(when, mysqlChanged(e.only))
		}
		if row == "NEW." {
			when = append(when, mysqlChanged(e.columns))
		}
		if len(when) > 0 {
			value = "IF(" + strings.Join(when, " AND ") + ", " + value + ", NULL)"
		}
		values = append(values, value)
	}
	return values
}

// mysqlChanged compares values, and the bytes of texts, which a collation may take for equal.
func mysqlChanged(columns []string) string {
	if len(columns) == 0 {
		return "FALSE"
	}
	var same []string
	for _, c := range slices.Compact(slices.Sorted(slices.Values(columns))) {
		old, now := "OLD."+doubled("`", c), "NEW."+doubled("`", c)
		same = append(same, old+" <=> "+now+" AND CAST("+old+" AS BINARY) <=> CAST("+now+" AS BINARY)")
	}
	return "NOT (" + strings.Join(same, " AND ") + ")"
}

// mysqlElement returns an expression for an element. An integer becomes a JSON string of its digits,
// which the reader spells in the same way. Of a text that is too long for a key and a tag, it has as
// much as shows that; see longest.
func mysqlElement(e *element, row string) string {
	if len(e.columns) == 0 {
		return mysqlLiteral(e.texts[0])
	}
	parts := []string{mysqlLiteral(e.texts[0])}
	for i, c := range e.columns {
		parts = append(parts, "JSON_QUOTE(LEFT(CONVERT("+row+doubled("`", c)+" USING utf8mb4), "+strconv.Itoa(key.MaxLen+1)+"))", mysqlLiteral(e.texts[i+1]))
	}
	return "CONCAT(" + strings.Join(parts, ", ") + ")"
}

// mysqlLiteral quotes a text so that it means the same in every mode and character set.
func mysqlLiteral(s string) string {
	plain := !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' })
	if plain {
		return doubled("'", s)
	}
	return "CONVERT(x'" + hex.EncodeToString([]byte(s)) + "' USING utf8mb4)"
}
