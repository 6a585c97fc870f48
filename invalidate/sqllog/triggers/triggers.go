package sqllog

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// ErrTriggers says that triggers are missing, disabled or of another text than [Triggers] returns.
// Until that is mended, writes of other programs invalidate nothing.
var ErrTriggers = errors.New("sqllog: tables do not invalidate themselves")

// Triggers returns the statements that make tables invalidate themselves, and those that undo it,
// for a migration. It touches no database. The same arguments give the same bytes. To change what
// a table stands for, migrate again with the new text: it replaces the triggers. Each statement
// ends with a semicolon and a newline. For PostgreSQL and SQLite, a tool that splits at semicolons
// needs its marks around the text, as goose does: -- +goose StatementBegin and StatementEnd.
//
// The triggers write to the tables of a log under their default names and in the default
// namespace. [Log.Triggers] is for other names. Errors wrap [ErrTable]. [Log.CheckTriggers] tells
// whether a database has the triggers. The package documentation says what each database needs.
func Triggers(d Dialect, tables ...Table) (up, down string, err error) {
	cfg := Config{Dialect: d}.filled()
	return triggers(&cfg, tables)
}

// Triggers returns what the function [Triggers] returns, for the Tables and the Namespace of the
// log's [Config]. A table has the triggers of one log: those of another log replace them.
func (l *Log) Triggers(tables ...Table) (up, down string, err error) {
	if err := l.Validate(); err != nil {
		return "", "", err
	}
	return triggers(&l.cfg, tables)
}

func triggers(cfg *Config, tables []Table) (up, down string, err error) {
	all, err := mapTables(cfg.Dialect, tables)
	if err != nil {
		return "", "", err
	}
	var ups, downs strings.Builder
	for i := range all {
		do, undo := cfg.statements(&all[i])
		for _, s := range do {
			ups.WriteString(s + ";\n")
		}
		for _, s := range undo {
			downs.WriteString(s + ";\n")
		}
	}
	return ups.String(), downs.String(), nil
}

// statements returns the statements that make the triggers of a table, and those that remove them.
func (c *Config) statements(m *mapped) (do, undo []string) {
	if c.Dialect == Postgres {
		return c.postgresTriggers(m)
	}
	for _, t := range c.rowTriggers(m) {
		do = append(do, t.drop, t.head+t.body)
		undo = append(undo, t.drop)
	}
	return do, undo
}

// trigger is one trigger of a database that has one for each row.
type trigger struct {
	name string // as in the catalog
	drop string
	head string // of the statement that creates it
	body string // the catalog has it, too
}

const madeBy = "-- Made by sqllog.Triggers. Do not edit: change the sqllog.Table, and migrate again."

// triggerName returns the beginning of the names of a table's triggers. A table with a long name
// gets a part of it, and a hash.
func triggerName(d Dialect, table string) string {
	const longest = len("_truncate")
	name := "twofold_changed_" + table
	if room := maxName[d] - longest; len(name) > room {
		hash := fmt.Sprintf("_%016x", xxhash.Sum64String(table))
		name = strings.ToValidUTF8(name[:room-len(hash)], "") + hash
	}
	return name
}

// longest returns the most bytes of an element that names anything. The values of a longer one are no
// key and no tag. Without a limit, a long text could make a row too large for the log, which then gives
// everything up.
func (m *mapped) longest() (n int) {
	const (
		longestKey = 2 * key.MaxLen           // JSON at most doubles each byte of a key
		longestTag = 6 * invalidate.MaxTagLen // a control byte becomes six bytes
	)
	for _, e := range m.elements {
		n = max(n, len(strings.Join(e.texts, ""))+len(`""`)*len(e.columns))
	}
	return n + longestKey + longestTag
}

// jsonText returns s as a JSON string. Its caller has checked that s is UTF-8.
func jsonText(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string always has JSON
	return string(b)
}

// marks are the quotation marks of identifiers.
var marks = map[Dialect]string{Postgres: `"`, SQLite: `"`, MariaDB: "`"}

// doubled quotes an identifier or a text: mark stands around it, and twice for each mark in it.
func doubled(mark, s string) string { return mark + strings.ReplaceAll(s, mark, mark+mark) + mark }

// quotedName returns the name of a table, with its schema if that is known.
func quotedName(mark string, parts ...string) string {
	var quoted []string
	for _, p := range parts {
		if p != "" {
			quoted = append(quoted, doubled(mark, p))
		}
	}
	return strings.Join(quoted, ".")
}

// literal quotes a text. The result means the same with every setting and character set of the session.
func literal(d Dialect, s string) string {
	odd := func(r rune) bool { return r < ' ' || r > '~' || r == '\\' }
	switch {
	case d == Postgres && strings.Contains(s, `\`):
		return "E" + doubled("'", strings.ReplaceAll(s, `\`, `\\`))
	case d == MariaDB && strings.ContainsFunc(s, odd):
		return "CONVERT(x'" + hex.EncodeToString([]byte(s)) + "' USING utf8mb4)"
	}
	return doubled("'", s)
}

// jsonValue has the expressions for the value {c} of a column in JSON, NULL for a NULL. In MariaDB an
// integer becomes a JSON string of its digits, which the reader spells in the same way. Of a text that
// is too long for a key and a tag, MariaDB gives as much as shows that; see longest.
var jsonValue = map[Dialect]string{
	Postgres: "pg_catalog.to_json({c})::text",
	SQLite:   "CASE typeof({c}) WHEN 'integer' THEN {c} WHEN 'text' THEN json_quote('' || {c}) END",
	MariaDB:  "JSON_QUOTE(LEFT(CONVERT({c} USING utf8mb4), " + strconv.Itoa(key.MaxLen+1) + "))",
}

// spelled returns an expression for an element of a row. A NULL in a column makes the element NULL.
func (e *element) spelled(d Dialect, row string) string {
	parts := []string{literal(d, e.texts[0])}
	for i, c := range e.columns {
		parts = append(parts, strings.ReplaceAll(jsonValue[d], "{c}", row+doubled(marks[d], c)), literal(d, e.texts[i+1]))
	}
	if d == MariaDB && len(parts) > 1 {
		return "CONCAT(" + strings.Join(parts, ", ") + ")"
	}
	return strings.Join(parts, " || ")
}
