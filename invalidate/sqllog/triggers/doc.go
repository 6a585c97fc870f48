// Package triggers makes tables that invalidate themselves: every committed write of a table, by any
// program, invalidates what its rows stand for. It is for caches that follow a log of package sqllog in
// the same database.
//
// A [Table] says what the rows of a table stand for:
//
//	cfg := sqllog.Config{Dialect: sqllog.Postgres} // that of the log
//	table := triggers.Table{Name: "app.users", Rows: []triggers.Row{
//		{Key: users.Namespace(), Column: "id"},    // what users.Key(42) covers
//		{Tag: "org:", Column: "org_id"},           // of the old row and of the new one
//		{Tag: "directory", Only: []string{"name"}}, // an UPDATE counts only if it changes the name
//	}}
//	tables := []triggers.Table{table}
//	up, down, err := triggers.SQL(cfg, tables...)               // the text of a migration
//	err = triggers.Check(ctx, db, cfg, tables, users)           // at the start: are they there, enabled, of this text?
//	go triggers.Watch(ctx, time.Minute, db, cfg, tables, users) // and later
//	err = triggers.Install(ctx, db, cfg, tables...)             // in tests and small tools, in place of a migration
//
// The triggers write rows into the outbox of the log, in the transaction of the statement that fires
// them. They promise guarantee 13 of package cache for every committed write to the table, by any
// client. It holds for the keys and tags that the old and the new rows stand for
// (TestTriggersCoverEveryWrite). If the outbox is missing, the write fails.
//
// A NULL names nothing. A value that is not a valid key or tag, such as an empty text, names nothing
// either, because no cache can have it. A row is named by the value that is stored. A database may find
// it by others too: the integer 42 by the text "042", and with most collations of MariaDB "a" by "a ".
// Give a cache of an integer column integer keys, and trim texts.
//
// # PostgreSQL
//
// A trigger for each statement sees all of its rows, those of COPY, MERGE, ON CONFLICT and cascades
// included, and writes one row of the outbox. A statement with more than 1,000 scopes, or a TRUNCATE,
// names the namespace of a key and the tenant of a tag with columns. It names everything if there are
// too many tenants. The function runs with the rights of its owner, so writers need no right on the
// outbox, and the owner needs INSERT. The triggers are enabled ALWAYS, so they also fire in a session
// whose session_replication_role is replica. A subscription of logical replication fires no triggers of
// statements; for it there is a trigger for each row, with a row of the outbox each.
//
// Partitions have their own triggers. A statement on the parent is always seen; for statements on a new
// partition, run the migration again. [Check] names such partitions. It refuses an unlogged table, which
// is empty after a crash. The function is in the schema of its table. For Only, put the primary key into
// Table.Unique. After an INSERT, lastval() is the id of the row in the outbox; use RETURNING or currval.
//
// # SQLite
//
// A trigger for each row. INSERT OR REPLACE removes rows without their delete trigger, unless PRAGMA
// recursive_triggers is on. Therefore two more triggers look for the rows that it removes, by the columns
// in Table.Unique. They call only functions that a connection with trusted_schema off allows. [Check]
// compares these with the unique constraints. The triggers do not see a row that
// INSERT OR REPLACE finds by a rowid that is not a column, or by the default that it puts in place of a
// NULL into a NOT NULL column.
//
// # MariaDB
//
// A trigger for each row. Foreign keys that cascade fire no trigger, so [Check] refuses a table with one,
// unless Table.Cascades is set. It also refuses a table in another schema than the log, unless
// Tables.Schema names the log's: a trigger looks for the outbox in the schema of its table. TRUNCATE fires none. An upgrade removes the old triggers before it makes
// the new ones, so let nothing write meanwhile. A text column needs a collation that tells upper from
// lower case. This was tested with MariaDB 10.11; MySQL was never tried.
//
// # What no trigger sees
//
// No database fires triggers for DROP TABLE, for an ALTER TABLE that changes values, or for partitions
// that are attached, detached or exchanged. Invalidate after those yourself. README.md beside this file
// lists all of them, what removes triggers, and the order of migrations.
package triggers
