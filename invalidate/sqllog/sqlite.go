package sqllog

import (
	"context"
	"database/sql"
	"encoding/json"
	"strconv"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/safeguard"
)

// sqliteText returns the statements for SQLite. A file has no server, so its identity is constant.
// The witness reveals that an old copy was put back.
func sqliteText() dialectText {
	const clock = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
	return dialectText{
		server:   "'sqlite'",
		place:    "''", // see witness
		mark:     "''",
		version:  1,
		row:      "''", // see contentOf
		clock:    clock,
		age:      "CAST(" + clock + " - o.at AS INTEGER)",
		pending:  "1",
		order:    "o.id",
		low:      "''",
		least:    "''",
		last:     notedLast,
		proof:    "NULL",
		begin:    "INSERT INTO {meta} (ns) VALUES ($1) ON CONFLICT (ns) DO NOTHING", // takes the write lock either way
		greatest: "max",
	}
}

// writeSQLite numbers a batch in one transaction, whose first statement takes the write lock.
func (l *Log) writeSQLite(ctx context.Context, conn *sql.Conn, b *batch) (n numbered, err error) {
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return n, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing is left to roll back after COMMIT
	n, after, w, err := l.holdSQLite(ctx, tx, b)
	if err != nil || !n.held || (n.rows == 0 && !b.own) {
		return n, err
	}
	for _, r := range b.records {
		if r.after != 0 {
			after[r.seq] = r.after
		}
		q, args := l.sql.add, []any{l.cfg.Namespace, r.seq, n.end[r.seq] + 1, 0, r.id, after[r.seq], r.payload}
		if r.names != nil {
			q, args = l.sql.addNamed, append(args, r.names)
		}
		if _, err := tx.ExecContext(ctx, q.text, q.args(args...)...); err != nil {
			return numbered{}, err
		}
		n.end[r.seq]++
		n.endID[r.seq] = r.id
	}
	err = tx.QueryRowContext(ctx, `UPDATE `+l.sql.meta+` SET key_end = ?, scope_end = ?, key_id = ?, scope_id = ? WHERE ns = ? RETURNING `+l.sql.clock,
		n.end[keySeq], n.end[scopeSeq], n.endID[keySeq], n.endID[scopeSeq], l.cfg.Namespace).Scan(&n.now)
	if err == nil {
		err = l.testify(&w, b.epoch, n.end, n.endID)
	}
	if err == nil {
		err = tx.Commit()
	}
	n.wrote = err == nil
	return n, err
}

// holdSQLite takes the write lock, deletes the rows from the outbox, and reads where the sequences
// end.
func (l *Log) holdSQLite(ctx context.Context, tx *sql.Tx, b *batch) (n numbered, after bySeq[int64], w witness, err error) {
	rows, err := json.Marshal(b.rows)
	if err != nil {
		return n, after, w, err
	}
	gone, err := tx.QueryContext(ctx, `DELETE FROM `+l.sql.outbox+` WHERE ns = ? AND id IN (SELECT json_extract(value, '$.id') FROM json_each(?))
		AND EXISTS (SELECT 1 FROM `+l.sql.meta+` m WHERE m.ns = ? AND m.epoch = ?) RETURNING id, scopes`, l.cfg.Namespace, string(rows), l.cfg.Namespace, b.epoch)
	if err != nil {
		return n, after, w, err
	}
	n.rows, err = b.staged(gone)
	if err != nil || n.rows < 0 {
		return numbered{}, after, w, err
	}
	if w, err = l.witness(ctx, tx); err != nil {
		return numbered{}, after, w, err
	}
	var epoch int64
	err = tx.QueryRowContext(ctx, `SELECT epoch, key_end, scope_end, key_id, scope_id FROM `+l.sql.meta+` WHERE ns = ?`, l.cfg.Namespace).
		Scan(&epoch, &n.end[keySeq], &n.end[scopeSeq], &n.endID[keySeq], &n.endID[scopeSeq])
	n.held = err == nil && epoch == b.epoch && !l.denies(&w, epoch, n.end, n.endID)
	return n, n.endID, w, err
}

// contentOf returns what tells rows with the same id apart.
func contentOf(text string) string {
	if safeguard.Off(safeguard.Content) {
		return ""
	}
	return strconv.FormatUint(xxhash.Sum64String(text), 16)
}

// staged counts rows that have left the outbox. It returns -1 when one of them is not the row that
// was staged.
func (b *batch) staged(gone *sql.Rows) (n int64, err error) {
	defer gone.Close() //nolint:errcheck // rows.Err says what went wrong
	same, known := true, make(map[int64]string, len(b.rows))
	for _, r := range b.rows {
		known[r.ID] = r.Content
	}
	for ; gone.Next(); n++ {
		var id int64
		var text string
		if err := gone.Scan(&id, &text); err != nil {
			return 0, err
		}
		same = same && known[id] == contentOf(text)
	}
	if !same {
		return -1, gone.Err()
	}
	return n, gone.Err()
}
