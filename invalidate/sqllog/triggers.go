package sqllog

import (
	"encoding/json"
	"errors"
	"fmt"
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
	switch c.Dialect {
	case Postgres:
		return c.postgresTriggers(m)
	case SQLite:
		return rowStatements(c.sqliteTriggers(m))
	case MySQL:
		return rowStatements(c.mysqlTriggers(m))
	}
	return nil, nil // not reached: mapTables refuses other dialects
}

// trigger is one trigger of a database that has one for each row.
type trigger struct {
	name string // as in the catalog
	drop string
	head string // of the statement that creates it
	body string // the catalog has it, too
}

func rowStatements(all []trigger) (do, undo []string) {
	for _, t := range all {
		do = append(do, t.drop, t.head+t.body)
		undo = append(undo, t.drop)
	}
	return do, undo
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
