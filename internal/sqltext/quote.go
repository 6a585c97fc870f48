package sqltext

import (
	"encoding/hex"
	"strings"
)

// The dialects, as types Dialect of other packages spell them.
const (
	Postgres = "postgres"
	SQLite   = "sqlite"
	MariaDB  = "mariadb"
)

// Quote quotes an identifier.
func Quote(dialect, name string) string {
	if dialect == MariaDB {
		return doubled("`", name)
	}
	return doubled(`"`, name)
}

// QuoteAll quotes the parts of a name, without those that are empty, and joins them with dots.
func QuoteAll(dialect string, parts ...string) string {
	var quoted []string
	for _, p := range parts {
		if p != "" {
			quoted = append(quoted, Quote(dialect, p))
		}
	}
	return strings.Join(quoted, ".")
}

// Qualified returns the name of a table that needs no quotation marks, with its schema if that is not
// empty.
func Qualified(schema, table string) string { return strings.TrimPrefix(schema+"."+table, ".") }

// Literal quotes a text. The result means the same with every setting and character set of the session.
func Literal(dialect, s string) string {
	odd := func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }
	switch {
	case dialect == Postgres && strings.Contains(s, `\`):
		return "E" + doubled("'", strings.ReplaceAll(s, `\`, `\\`))
	case dialect == MariaDB && strings.ContainsFunc(s, odd):
		return "CONVERT(x'" + hex.EncodeToString([]byte(s)) + "' USING utf8mb4)"
	}
	return doubled("'", s)
}

// doubled puts a mark around a text, and twice for each mark in it.
func doubled(mark, s string) string { return mark + strings.ReplaceAll(s, mark, mark+mark) + mark }
