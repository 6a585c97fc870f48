package sqllog

import (
	"context"
	"database/sql"
	"strconv"
)

// sqliteText returns the statements for SQLite. A file has no server, so its identity is constant.
// The witness reveals that an old copy was put back.
func sqliteText(*Config) map[string]string {
	const clock = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
	// The text may have bytes that are not UTF-8. What follows rowBytes does not count: such a text counts as
	// damaged in any case, and SQLite may not be able to hold twice as much.
	row := "o.id || ' ' || hex(substr(CAST(o.scopes AS BLOB), 1, " + strconv.Itoa(rowBytes+1) + "))"
	return map[string]string{
		"server":   "'sqlite'",
		"place":    "''", // see witness
		"mark":     "''",
		"payload":  "payload",
		"row":      row,
		"clock":    clock,
		"age":      "CAST(" + clock + " - o.at AS INTEGER)",
		"pending":  "1",
		"order":    "o.id",
		"low":      "''",
		"least":    "''",
		"last":     notedLast,
		"begin":    "INSERT INTO {meta} (ns) VALUES ($1) ON CONFLICT (ns) DO NOTHING", // takes the write lock either way
		"greatest": "max",
		"text":     "",
		"touch":    "",
		"reset":    "",
		"remove":   sqliteRemoveText,
	}
}

// writeSQLite numbers a batch in one transaction, whose first statement takes the write lock.
func (l *Log) writeSQLite(ctx context.Context, conn *sql.Conn, b *batch) (n numbered, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return n, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing is left to roll back after COMMIT
	if n.rows, err = l.remove(ctx, tx, b); err != nil {
		return n, err
	}
	w, err := l.witness(ctx, tx)
	if err != nil {
		return numbered{}, err
	}
	n.ends, err = l.readEnds(ctx, tx)
	if err != nil || n.epoch != b.epoch || l.contradicts(&w, &n.ends) {
		return numbered{}, err
	}
	if n.held = true; n.rows == 0 && !b.own {
		return n, nil
	}
	for i := range b.records {
		r := &b.records[i]
		if _, err := l.exec(ctx, tx, &l.sql.add, r.Seq, n.pos[r.Seq]+1, 0, r.ID, n.id[r.Seq], string(r.Payload)); err != nil {
			return numbered{}, err
		}
		n.pos[r.Seq]++
		n.id[r.Seq] = r.ID
	}
	if err = l.note(ctx, tx, b, &n); err == nil {
		err = l.writeSidecar(&w, &n.ends)
	}
	if err == nil {
		err = tx.Commit()
	}
	n.wrote = err == nil
	return n, err
}

// Only the ids are looked up in the index. The statement does nothing in another epoch.
const sqliteRemoveText = `DELETE FROM {outbox} AS o WHERE o.ns = $1 AND o.id IN (SELECT json_extract(value, '$.id') FROM json_each($2))
	AND {row} IN (SELECT json_extract(value, '$.content') FROM json_each($2))
	AND EXISTS (SELECT 1 FROM {meta} m WHERE m.ns = $1 AND m.epoch = $3)`
