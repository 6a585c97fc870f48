package triggers

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/sqltext"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
	"github.com/twofold-go/twofold/key"
)

// ErrNotInstalled says that triggers are missing, disabled or of another text than [SQL] returns.
// Until that is mended, writes of other programs invalidate nothing.
var ErrNotInstalled = errors.New("triggers: tables do not invalidate themselves")

// SQL returns the statements that make tables invalidate themselves, and those that undo it, for a
// migration. It touches no database. The same arguments give the same bytes. To change what a table
// stands for, migrate again with the new text: it replaces the triggers. Each statement ends with a
// semicolon and a newline. For PostgreSQL and SQLite, a tool that splits at semicolons needs its marks
// around the text, as goose does: -- +goose StatementBegin and StatementEnd.
//
// cfg is that of the log. Its Dialect, Namespace and Tables say where the triggers write. A table has
// the triggers of one log: those of another log replace them. Errors wrap [ErrTable] or
// sqllog.ErrConfig.
func SQL(cfg sqllog.Config, tables ...Table) (up, down string, err error) {
	to, all, err := prepare(cfg, tables)
	if err != nil {
		return "", "", err
	}
	var ups, downs strings.Builder
	for i := range all {
		do, undo := to.statements(&all[i])
		for _, s := range do {
			ups.WriteString(s + ";\n")
		}
		for _, s := range undo {
			downs.WriteString(s + ";\n")
		}
	}
	return ups.String(), downs.String(), nil
}

// target is where triggers write.
type target struct {
	dialect        string
	schema, outbox string // the table; an empty schema is the connection's own
	namespace      string
}

// prepare checks the configuration and the tables.
func prepare(cfg sqllog.Config, tables []Table) (*target, []mapped, error) {
	if err := cfg.Validate(); err != nil {
		return nil, nil, err
	}
	to := &target{
		dialect: cfg.Dialect.String(), schema: cfg.Tables.Schema, outbox: cmp.Or(cfg.Tables.Outbox, outbox.DefaultTable),
		namespace: cmp.Or(cfg.Namespace, sqllog.DefaultNamespace),
	}
	all, err := mapTables(to.dialect, tables)
	return to, all, err
}

// statements returns the statements that make the triggers of a table, and those that remove them.
func (c *target) statements(m *mapped) (do, undo []string) {
	if c.dialect == sqltext.Postgres {
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

const madeBy = "-- Made by package triggers of sqllog. Do not edit: change the Table, and migrate again."

// triggerName returns the beginning of the names of a table's triggers. A table with a long name
// gets a part of it, and a hash.
func triggerName(d string, table string) string {
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
		n = max(n, len(strings.Join(e.texts, ""))+len(`[""]`)*len(e.columns))
	}
	return n + longestKey + longestTag
}

// jsonText returns s as a JSON string. Its caller has checked that s is UTF-8.
func jsonText(s string) string {
	b, _ := json.Marshal(s) //nolint:errchkjson // a string always has JSON
	return string(b)
}

// jsonValue has the expressions for the value {c} of a column in JSON, NULL for a NULL. In MariaDB an
// integer becomes a JSON string of its digits, which the reader spells in the same way. Of a text that
// is too long for a key and a tag, MariaDB gives as much as shows that; see longest. In SQLite, triggers may
// not call JSON functions on a connection with trusted_schema off, so texts that JSON escapes are in
// hexadecimal.
var jsonValue = map[string]string{
	sqltext.Postgres: "pg_catalog.to_json({c})::text",
	sqltext.SQLite: `CASE typeof({c}) WHEN 'integer' THEN {c} WHEN 'text' THEN CASE WHEN {c} GLOB '*["\' || char(1) || '-' || char(31) || ']*' OR instr({c}, char(0))` +
		` THEN '["' || hex({c}) || '"]' ELSE '"' || {c} || '"' END END`,
	sqltext.MariaDB: "JSON_QUOTE(LEFT(CONVERT({c} USING utf8mb4), " + strconv.Itoa(key.MaxLen+1) + "))",
}

// spelled returns an expression for an element of a row. A NULL in a column makes the element NULL.
func (e *element) spelled(d string, row string) string {
	parts := []string{sqltext.Literal(d, e.texts[0])}
	for i, c := range e.columns {
		parts = append(parts, strings.ReplaceAll(jsonValue[d], "{c}", row+sqltext.Quote(d, c)), sqltext.Literal(d, e.texts[i+1]))
	}
	if d == sqltext.MariaDB && len(parts) > 1 {
		return "CONCAT(" + strings.Join(parts, ", ") + ")"
	}
	return strings.Join(parts, " || ")
}
