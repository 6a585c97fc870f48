package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// The type of a column is that below its domains. A char(n) is compared without its last spaces, so
// several keys find one row.
const (
	postgresKind = postgresTree + ` SELECT c.relkind::text, EXISTS (SELECT FROM tree t JOIN pg_class p ON p.oid = t.oid WHERE p.relkind NOT IN ('r', 'p')),
	EXISTS (SELECT FROM tree t JOIN pg_class p ON p.oid = t.oid WHERE p.relkind = 'r' AND p.relpersistence <> 'p')
FROM pg_class c WHERE c.oid = to_regclass({table})::oid`

	postgresColumns = `WITH RECURSIVE kinds(num, kind) AS (
	SELECT a.attnum, a.atttypid FROM pg_attribute a WHERE a.attrelid = to_regclass({table})::oid AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL SELECT k.num, t.typbasetype FROM kinds k JOIN pg_type t ON t.oid = k.kind WHERE t.typtype = 'd'
)
SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attgenerated::text = 'v', coalesce(c.collisdeterministic, true),
	t.typname IN ('int2', 'int4', 'int8', 'text', 'varchar', 'uuid') AND t.typnamespace = 'pg_catalog'::regnamespace::oid
FROM kinds k JOIN pg_attribute a ON a.attrelid = to_regclass({table})::oid AND a.attnum = k.num
	JOIN pg_type t ON t.oid = k.kind AND t.typtype <> 'd' LEFT JOIN pg_collation c ON c.oid = a.attcollation`

	postgresUnique = `SELECT i.indexrelid::bigint, a.attname FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
WHERE i.indrelid = to_regclass({table})::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND NOT 0 = ANY (i.indkey) ORDER BY 1`

	// A row for each table of the tree and each of its triggers.
	postgresHave = postgresTree + ` SELECT tree.oid::regclass::text, v.event, coalesce(t.tgenabled::text, ''),
	coalesce(t.tgtype = v.kind AND pg_catalog.cardinality(t.tgattr) = 0 AND t.tgqual IS NULL AND t.tgnargs = 0 AND coalesce(t.tgoldtable, '') = v.old AND coalesce(t.tgnewtable, '') = v.new, false),
	coalesce(p.prosrc, ''), coalesce(p.prosecdef AND p.proconfig OPERATOR(pg_catalog.=) ARRAY[pg_catalog.format('search_path=pg_catalog, %I, pg_temp', o.home)], false),
	coalesce(has_table_privilege(p.proowner, o.oid, 'INSERT') AND has_schema_privilege(p.proowner, o.homeid, 'USAGE'), false)
FROM tree CROSS JOIN (VALUES ('insert', 4, '', 'twofold_new'), ('update', 16, 'twofold_old', 'twofold_new'), ('delete', 8, 'twofold_old', ''), ('truncate', 32, '', ''), ('row', 29, '', '')) v(event, kind, old, new)
	JOIN pg_class c ON c.oid = tree.oid AND (c.relkind = 'r'::"char" OR v.event <> 'row')
	LEFT JOIN (SELECT c.oid, n.oid AS homeid, n.nspname AS home FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass({outbox})::oid) o ON true
	LEFT JOIN pg_trigger t ON t.tgrelid = tree.oid AND t.tgname = {trigger} || '_' || v.event
	LEFT JOIN pg_proc p ON p.oid = t.tgfoid
ORDER BY 1, 2`
)

// about puts the names of a table into a query of the catalog.
func (c *Config) about(m *mapped, query string) string {
	return replaceAll(query, map[string]string{
		"table":   postgresLiteral(quotedName(`"`, m.Schema, m.Name)),
		"trigger": postgresLiteral(m.trigger), "outbox": postgresLiteral(c.Tables.qualified(c.Tables.Outbox)),
	})
}

func postgresTable(ctx context.Context, conn *sql.Conn, m *mapped) (*found, error) {
	c, f := &Config{}, &found{}
	var kind string
	var foreign, unlogged bool
	var there any
	if err := conn.QueryRowContext(ctx, c.about(m, "SELECT to_regclass({table})::text")).Scan(&there); err != nil || there == nil {
		return nil, err
	}
	err := conn.QueryRowContext(ctx, c.about(m, postgresKind)).Scan(&kind, &foreign, &unlogged)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil //nolint:nilnil // there is no such table
	}
	if err != nil {
		return nil, err
	}
	if kind != "r" && kind != "p" || foreign {
		f.kind = "a view or a foreign table, or has one as a partition; name the tables below a view, and leave foreign data to a log in its own database"
		return f, nil
	}
	if unlogged {
		f.kind = "unlogged or temporary, or has such a partition; a crash empties it without a trigger: run ALTER TABLE … SET LOGGED"
		return f, nil
	}
	err = eachRow(ctx, conn, c.about(m, postgresColumns), nil, func(scan func(...any) error) error {
		var col column
		var virtual, deterministic, spelled bool
		err := scan(&col.name, &col.kind, &virtual, &deterministic, &spelled)
		switch {
		case !spelled:
			col.reason = notSpelled
		case virtual:
			col.reason = "triggers do not see virtual columns; make it STORED"
		case !deterministic:
			col.reason = collates
		}
		f.columns = append(f.columns, col)
		return err
	})
	if err != nil || !slices.ContainsFunc(m.Rows, func(r Row) bool { return len(r.Only) > 0 }) {
		return f, err
	}
	indexes := map[int64][]string{}
	err = eachRow(ctx, conn, c.about(m, postgresUnique), nil, func(scan func(...any) error) error {
		var index int64
		var name string
		err := scan(&index, &name)
		indexes[index] = append(indexes[index], name)
		return err
	})
	for _, columns := range indexes {
		f.unique = append(f.unique, columns)
	}
	within := func(columns []string) bool {
		return !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(m.Unique[0], c) })
	}
	if !slices.ContainsFunc(f.unique, within) {
		f.faults = append(f.faults, fmt.Sprintf("Unique[0] has %d columns, and table %q has no unique index of them alone; Only needs the columns of the primary key there", len(m.Unique[0]), m.shown()))
	}
	return f, err
}

// postgresFaults says what is wrong with the triggers on a table and its partitions.
func (c *Config) postgresFaults(ctx context.Context, conn *sql.Conn, m *mapped) (faults []string, err error) {
	source := c.postgresSource(m)
	const again = "migrate again with the text of Triggers"
	err = eachRow(ctx, conn, c.about(m, postgresHave), nil, func(scan func(...any) error) error {
		var table, event, enabled, have string
		var shape, safe, rights bool
		if err := scan(&table, &event, &enabled, &shape, &have, &safe, &rights); err != nil {
			return err
		}
		what := fmt.Sprintf("trigger %q of table %q", m.trigger+"_"+event, table)
		switch {
		case enabled == "":
			faults = append(faults, what+" is missing (a new partition needs its own): "+again)
		case event == "row" && enabled != "R":
			faults = append(faults, what+" is disabled, or enabled for others than replication: run ALTER TABLE … ENABLE REPLICA TRIGGER, or "+again)
		case event != "row" && enabled != "A":
			faults = append(faults, what+" is disabled, or not enabled for session_replication_role: run ALTER TABLE … ENABLE ALWAYS TRIGGER, or "+again)
		case have != source || !shape:
			faults = append(faults, what+" is outdated: "+again)
		case !safe:
			faults = append(faults, what+" has a function that does not run with the rights of its owner and the schema of the outbox: "+again)
		case !rights:
			faults = append(faults, what+" has a function whose owner may not write to the outbox: GRANT INSERT to its owner")
		}
		return nil
	})
	return faults, err
}
