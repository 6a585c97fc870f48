package sqllog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// sqliteTriggersQuery returns the text of each trigger of a table.
func sqliteTriggersQuery(m *mapped) string {
	return "SELECT name, sql FROM " + doubled(`"`, cmp.Or(m.Schema, "main")) + ".sqlite_master WHERE type = 'trigger' AND tbl_name = ?1"
}

func (c *Config) sqliteTable(ctx context.Context, conn *sql.Conn, m *mapped) (*found, error) {
	f := &found{}
	home := cmp.Or(m.Schema, "main")
	var kind string
	err := conn.QueryRowContext(ctx, "SELECT type FROM "+doubled(`"`, home)+".sqlite_master WHERE name = ?1 AND type IN ('table', 'view')", m.Name).Scan(&kind)
	if errors.Is(err, sql.ErrNoRows) || err != nil && strings.Contains(err.Error(), "no such table") {
		return nil, nil //nolint:nilnil // there is no such table
	}
	if err != nil || kind != "table" {
		f.kind = "a view; name the tables below it"
		return f, err
	}
	if outbox := cmp.Or(c.Tables.Schema, "main"); !strings.EqualFold(outbox, home) {
		f.faults = append(f.faults, fmt.Sprintf("Schema is %q and the outbox is in %q: a trigger of SQLite writes to its own file alone; put both into one file", home, outbox))
	}
	var key []string
	err = eachRow(ctx, conn, "SELECT name, type, pk FROM pragma_table_xinfo(?1, ?2) ORDER BY pk", []any{m.Name, home}, func(scan func(...any) error) error {
		var col column
		var pk int
		err := scan(&col.name, &col.kind, &pk)
		col.reason = sqliteReason(col.kind)
		if f.columns = append(f.columns, col); pk > 0 {
			key = append(key, col.name)
		}
		return err
	})
	if err != nil {
		return f, err
	}
	for i := range f.columns {
		if err := sqliteCollation(ctx, conn, home, m, &f.columns[i]); err != nil {
			return f, err
		}
	}
	return f, f.sqliteUnique(ctx, conn, m, home, key)
}

// sqliteReason says why a column of a declared type cannot name a key or a tag.
func sqliteReason(kind string) string {
	kind = strings.ToUpper(kind)
	for _, part := range []string{"INT", "CHAR", "TEXT", "CLOB"} {
		if strings.Contains(kind, part) && !strings.Contains(kind, "POINT") {
			return ""
		}
	}
	if kind == "UUID" {
		return ""
	}
	return notSpelled
}

// sqliteCollation looks whether the collation of a column takes different texts for equal. No pragma
// tells; but the first SELECT of a UNION says how the UNION compares.
func sqliteCollation(ctx context.Context, conn *sql.Conn, home string, m *mapped, col *column) error {
	if col.reason != "" {
		return nil
	}
	var n int
	err := conn.QueryRowContext(ctx, "SELECT count(*) FROM (SELECT "+doubled(`"`, col.name)+" FROM "+quotedName(`"`, home, m.Name)+
		" WHERE 0 UNION SELECT 'a' UNION SELECT 'A' UNION SELECT 'a ')").Scan(&n)
	if n != 3 {
		col.reason = collates
	}
	return err
}

// sqliteUnique compares Unique with the primary key and the unique indexes. Partial indexes count as
// whole ones, which names more rows.
func (f *found) sqliteUnique(ctx context.Context, conn *sql.Conn, m *mapped, home string, key []string) error {
	if len(key) > 0 {
		f.unique = append(f.unique, key)
	}
	indexes, odd := map[string][]string{}, map[string]bool{}
	err := eachRow(ctx, conn, `SELECT l.name, coalesce(x.name, ''), x.coll FROM pragma_index_list(?1, ?2) l, pragma_index_xinfo(l.name, ?2) x
		WHERE l."unique" AND x.key ORDER BY l.name, x.seqno`, []any{m.Name, home}, func(scan func(...any) error) error {
		var index, name, coll string
		err := scan(&index, &name, &coll)
		indexes[index] = append(indexes[index], name)
		at := slices.IndexFunc(f.columns, func(c column) bool { return c.name == name })
		odd[index] = odd[index] || at < 0 || coll != "BINARY" && f.columns[at].reason != collates
		return err
	})
	for index, columns := range indexes {
		if odd[index] {
			f.faults = append(f.faults, fmt.Sprintf("Unique cannot name index %q, which is on an expression or has its own collation: triggers do not see the rows that INSERT OR REPLACE removes by it; use a column", index))
			continue
		}
		f.unique = append(f.unique, columns)
	}
	for _, columns := range f.unique {
		if !slices.ContainsFunc(m.Unique, func(u []string) bool { return sameColumns(u, columns) }) {
			f.faults = append(f.faults, fmt.Sprintf("Unique does not name the unique columns %q of table %q, by which INSERT OR REPLACE may remove a row; add them", columns, m.shown()))
		}
	}
	for i, columns := range m.Unique {
		if len(f.unique) > 0 && !slices.ContainsFunc(f.unique, func(u []string) bool { return sameColumns(u, columns) }) {
			f.faults = append(f.faults, fmt.Sprintf("Unique[%d] is %q, which are not the columns of a unique constraint of table %q; correct it", i, columns, m.shown()))
		}
	}
	return err
}
