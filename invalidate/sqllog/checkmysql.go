package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

const (
	// An empty schema means the schema of the connection.
	mysqlHome = "COALESCE(NULLIF(?, ''), DATABASE())"

	mysqlTriggersQuery = "SELECT trigger_name, action_statement FROM information_schema.triggers" +
		" WHERE trigger_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND event_object_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND event_object_table = ?" +
		" AND action_timing = 'AFTER' AND LOWER(event_manipulation) = SUBSTRING_INDEX(trigger_name, '_', -1)"

	mysqlCascades = "SELECT constraint_name FROM information_schema.referential_constraints WHERE constraint_schema = " + mysqlHome + " AND table_name = ?" +
		" AND (delete_rule NOT IN ('RESTRICT', 'NO ACTION') OR update_rule NOT IN ('RESTRICT', 'NO ACTION')) ORDER BY 1"
)

func mysqlTable(ctx context.Context, conn *sql.Conn, m *mapped) (*found, error) {
	f := &found{}
	var kind, engine string
	at := []any{m.Schema, m.Name}
	err := conn.QueryRowContext(ctx, "SELECT table_type, COALESCE(engine, '') FROM information_schema.tables WHERE table_schema = "+mysqlHome+" AND table_name = ?", at...).Scan(&kind, &engine)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil //nolint:nilnil // there is no such table
	case err != nil:
		return nil, err
	case kind != "BASE TABLE":
		f.kind = "a view, or keeps the history of its rows; name a plain table"
		return f, nil
	case engine != "InnoDB":
		f.kind = "of engine " + engine + ", which has no transactions: a write could stay without its invalidation; use InnoDB"
		return f, nil
	}
	err = eachRow(ctx, conn, "SELECT column_name, data_type, column_type FROM information_schema.columns WHERE table_schema = "+mysqlHome+" AND table_name = ?", at, func(scan func(...any) error) error {
		var col column
		var data string
		err := scan(&col.name, &data, &col.kind)
		switch strings.ToLower(data) {
		case "tinyint", "smallint", "mediumint", "int", "bigint", "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "uuid":
		default:
			col.reason = notSpelled
		}
		if strings.Contains(strings.ToLower(col.kind), "zerofill") {
			col.reason = "ZEROFILL writes zeros before the number; use a plain integer"
		}
		f.columns = append(f.columns, col)
		return err
	})
	for i := range f.columns {
		if err == nil && f.columns[i].reason == "" {
			err = mysqlCollation(ctx, conn, m, &f.columns[i])
		}
	}
	if err != nil || m.Cascades {
		return f, err
	}
	return f, eachRow(ctx, conn, mysqlCascades, at, func(scan func(...any) error) error {
		var name string
		err := scan(&name)
		f.faults = append(f.faults, fmt.Sprintf("Cascades is false, and foreign key %q of table %q removes or changes rows without a trigger; "+
			"use RESTRICT, or invalidate with the other table's rows and set Cascades", name, m.shown()))
		return err
	})
}

// mysqlCollation looks whether the collation of a text column takes different texts for equal. Spaces
// at the end do not count: most binary collations ignore them.
func mysqlCollation(ctx context.Context, conn *sql.Conn, m *mapped, col *column) error {
	if strings.Contains(strings.ToLower(col.kind), "int") || strings.EqualFold(col.kind, "uuid") {
		return nil
	}
	var n int
	err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT "+doubled("`", col.name)+" FROM "+quotedName("`", m.Schema, m.Name)+
		" WHERE FALSE UNION SELECT 'a' UNION SELECT 'A') u").Scan(&n)
	if n != 2 {
		col.reason = collates
	}
	return err
}
