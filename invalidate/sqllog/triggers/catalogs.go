package triggers

import "github.com/twofold-go/twofold/internal/sqltext"

// catalog holds the questions about a table that a database's catalog answers. $1 is the schema and
// $2 the name of the table; names in braces are those of [target.about]. An empty question is not
// asked. Questions are in ASCII, because the encoding of a database may lack other characters.
type catalog struct {
	kind    string // why the table cannot have the triggers, or ''. No row: there is no such table
	columns string // of each column: name, type, why it cannot name a key or a tag, or '', and 'text' to ask collates
	// collates asks for the reason if a column takes different texts for equal. No catalog lists every
	// collation, but the first SELECT of a UNION decides how the UNION compares.
	collates string
	unique   string // the columns of the unique constraints: constraint, column, and the collation there, or '' if it is the column's
	cascades string // the foreign keys that change rows without a trigger
	triggers string // of each trigger that there should be: name, text, and in MariaDB whose rights it has
	outbox   string // a row if the outbox is there; $1 and $2 are its schema and its name
}

var catalogs = map[string]catalog{
	sqltext.Postgres: {
		kind: postgresTree + ` SELECT CASE WHEN c.relkind NOT IN ('r', 'p') OR EXISTS (SELECT FROM tree t JOIN pg_class p ON p.oid = t.oid WHERE p.relkind NOT IN ('r', 'p'))
	THEN 'a view or a foreign table, or has one as a partition; name the tables below a view, and leave foreign data to a log in its own database'
	WHEN EXISTS (SELECT FROM tree t JOIN pg_class p ON p.oid = t.oid WHERE p.relkind = 'r' AND p.relpersistence <> 'p')
	THEN 'unlogged or temporary, or has such a partition; a crash empties it without a trigger: run ALTER TABLE ... SET LOGGED' ELSE '' END
FROM pg_class c WHERE c.oid = {table}::oid`,
		// The type of a column is that below its domains. A char(n) is compared without its last
		// spaces, so several keys find one row.
		columns: `WITH RECURSIVE kinds(num, kind) AS (
	SELECT a.attnum, a.atttypid FROM pg_attribute a WHERE a.attrelid = {table}::oid AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL SELECT k.num, t.typbasetype FROM kinds k JOIN pg_type t ON t.oid = k.kind WHERE t.typtype = 'd'
)
SELECT a.attname, format_type(a.atttypid, a.atttypmod), CASE
	WHEN t.typname NOT IN ('int2', 'int4', 'int8', 'text', 'varchar', 'uuid') OR t.typnamespace <> 'pg_catalog'::regnamespace::oid THEN '` + notSpelled + `'
	WHEN a.attgenerated::text = 'v' THEN 'triggers do not see virtual columns; make it STORED'
	WHEN NOT c.collisdeterministic THEN '` + collates + `' ELSE '' END, ''
FROM kinds k JOIN pg_attribute a ON a.attrelid = {table}::oid AND a.attnum = k.num
	JOIN pg_type t ON t.oid = k.kind AND t.typtype <> 'd' LEFT JOIN pg_collation c ON c.oid = a.attcollation`,
		outbox: `SELECT c.relname FROM pg_class c WHERE c.oid = to_regclass({outbox})::oid`,
		unique: `SELECT i.indexrelid::text, a.attname, '' FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey[0:i.indnkeyatts - 1])
WHERE i.indrelid = {table}::oid AND i.indisunique AND i.indisvalid AND i.indpred IS NULL AND NOT 0 = ANY (i.indkey) ORDER BY 1`,
	},
	sqltext.SQLite: {
		kind: "SELECT CASE type WHEN 'table' THEN '' ELSE 'a view; name the tables below it' END FROM {home}.sqlite_master WHERE name = $2 AND type IN ('table', 'view')",
		columns: `SELECT name, type, CASE WHEN upper(type) = 'UUID' OR upper(type) NOT LIKE '%POINT%'
	AND (upper(type) LIKE '%INT%' OR upper(type) LIKE '%CHAR%' OR upper(type) LIKE '%TEXT%' OR upper(type) LIKE '%CLOB%')
	THEN '' ELSE '` + notSpelled + `' END, 'text' FROM pragma_table_xinfo($2, $1)`,
		collates: "SELECT CASE WHEN count(*) < 3 THEN '" + collates + "' ELSE '' END FROM (SELECT {column} FROM {table} WHERE 0 UNION SELECT 'a' UNION SELECT 'A' UNION SELECT 'a ')",
		// Partial indexes count as whole ones, which names more rows.
		unique: `SELECT '', name, '' FROM (SELECT name FROM pragma_table_xinfo($2, $1) WHERE pk ORDER BY pk) UNION ALL
SELECT * FROM (SELECT l.name, coalesce(x.name, ''), CASE x.coll WHEN 'BINARY' THEN '' ELSE x.coll END FROM pragma_index_list($2, $1) l, pragma_index_xinfo(l.name, $1) x
	WHERE l."unique" AND x.key ORDER BY l.name, x.seqno)`,
		triggers: "SELECT name, sql FROM {home}.sqlite_master WHERE type = 'trigger' AND tbl_name = $2",
		outbox:   "SELECT name FROM {home}.sqlite_master WHERE type = 'table' AND name = $2 COLLATE NOCASE",
	},
	sqltext.MariaDB: {
		kind: `SELECT CASE WHEN table_type <> 'BASE TABLE' THEN 'a view, or keeps the history of its rows; name a plain table'
	WHEN COALESCE(engine, '') <> 'InnoDB' THEN CONCAT('of engine ', COALESCE(engine, ''), ', which has no transactions: a write could stay without its invalidation; use InnoDB')
	ELSE '' END FROM information_schema.tables WHERE table_schema = ` + mariadbHome + ` AND table_name = $2`,
		columns: `SELECT column_name, column_type, CASE WHEN LOWER(column_type) LIKE '%zerofill%' THEN 'ZEROFILL writes zeros before the number; use a plain integer'
	WHEN LOWER(data_type) IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint', 'char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext', 'uuid') THEN ''
	ELSE '` + notSpelled + `' END, CASE WHEN LOWER(data_type) LIKE '%int' OR LOWER(data_type) = 'uuid' THEN '' ELSE 'text' END
FROM information_schema.columns WHERE table_schema = ` + mariadbHome + ` AND table_name = $2`,
		// Spaces at the end do not count: most binary collations ignore them.
		collates: "SELECT CASE WHEN COUNT(*) < 2 THEN '" + collates + "' ELSE '' END FROM (SELECT {column} FROM {table} WHERE FALSE UNION SELECT 'a' UNION SELECT 'A') u",
		cascades: `SELECT constraint_name FROM information_schema.referential_constraints WHERE constraint_schema = ` + mariadbHome + ` AND table_name = $2
	AND (delete_rule NOT IN ('RESTRICT', 'NO ACTION') OR update_rule NOT IN ('RESTRICT', 'NO ACTION')) ORDER BY 1`,
		outbox: `SELECT table_name FROM information_schema.tables WHERE table_schema = ` + mariadbHome + ` AND table_name = $2`,
		triggers: `SELECT trigger_name, action_statement, CASE WHEN definer = CURRENT_USER() THEN '' ELSE definer END FROM information_schema.triggers
	WHERE trigger_schema = event_object_schema AND event_object_schema = ` + mariadbHome + ` AND event_object_table = $2
	AND action_timing = 'AFTER' AND LOWER(event_manipulation) = SUBSTRING_INDEX(trigger_name, '_', -1)`,
	},
}

// Why a column cannot name a key or a tag.
const (
	notSpelled = "a key or a tag comes from an integer, text or UUID column; add a column with the text, or give the value a tag without a column"
	collates   = "its collation takes different texts for equal, so several keys find one row; use a binary collation, or name another column"
)

// mariadbHome takes no schema for that of the connection.
const mariadbHome = "COALESCE(NULLIF($1, ''), DATABASE())"

// mariadbSession is the schema of the connection, in which a log without one is.
const mariadbSession = "SELECT COALESCE(DATABASE(), '')"

// mariadbUser has a row if the server has the user.
const mariadbUser = "SELECT u.user FROM mysql.user u WHERE CONCAT(CONVERT(u.user USING utf8mb4), '@', CONVERT(u.host USING utf8mb4)) COLLATE utf8mb4_bin = {user}"

const (
	first = "apply the migration with the text of SQL"
	again = "migrate again with the text of SQL"
)

// postgresTree lists a table with its partitions, and the tables that inherit from it.
const postgresTree = `WITH RECURSIVE tree(oid) AS (SELECT {table}::oid UNION SELECT i.inhrelid FROM pg_inherits i JOIN tree ON i.inhparent = tree.oid)`

// postgresHave has a row for each table of the tree and each of its triggers: the trigger, the table,
// and what is wrong; the last is empty if nothing is.
const postgresHave = postgresTree + ` SELECT {trigger} || '_' || v.event, tree.oid::regclass::text, CASE
	WHEN t.tgenabled IS NULL THEN CASE WHEN tree.oid = {table}::oid THEN 'missing: ` + first + `' ELSE 'missing, and a new partition needs its own: ` + again + `' END
	WHEN v.event = 'row' AND t.tgenabled <> 'R' THEN 'disabled, or enabled for others than replication: run ALTER TABLE ... ENABLE REPLICA TRIGGER, or ` + again + `'
	WHEN v.event <> 'row' AND t.tgenabled <> 'A' THEN 'disabled, or not enabled for session_replication_role: run ALTER TABLE ... ENABLE ALWAYS TRIGGER, or ` + again + `'
	WHEN (t.tgtype = v.kind AND pg_catalog.cardinality(t.tgattr) = 0 AND t.tgqual IS NULL AND t.tgnargs = 0 AND coalesce(t.tgoldtable, '') = v.old AND coalesce(t.tgnewtable, '') = v.new AND p.prosrc = {source})
		IS NOT TRUE THEN 'outdated: ` + again + `'
	WHEN (p.prosecdef AND p.proconfig OPERATOR(pg_catalog.=) ARRAY[pg_catalog.format('search_path=pg_catalog, %I, pg_temp', o.home)])
		IS NOT TRUE THEN 'the function does not run with the rights of its owner and the schema of the outbox: ` + again + `'
	WHEN (has_table_privilege(p.proowner, o.oid, 'INSERT') AND has_schema_privilege(p.proowner, o.homeid, 'USAGE'))
		IS NOT TRUE THEN 'the owner of the function may not write to the outbox: GRANT INSERT to the owner'
	ELSE '' END
FROM tree CROSS JOIN (VALUES ('insert', 4, '', 'twofold_new'), ('update', 16, 'twofold_old', 'twofold_new'), ('delete', 8, 'twofold_old', ''), ('truncate', 32, '', ''), ('row', 29, '', '')) v(event, kind, old, new)
	JOIN pg_class c ON c.oid = tree.oid AND (c.relkind = 'r'::"char" OR v.event <> 'row')
	LEFT JOIN (SELECT c.oid, n.oid AS homeid, n.nspname AS home FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = to_regclass({outbox})::oid) o ON true
	LEFT JOIN pg_trigger t ON t.tgrelid = tree.oid AND t.tgname = {trigger} || '_' || v.event
	LEFT JOIN pg_proc p ON p.oid = t.tgfoid
ORDER BY 2, 1`
