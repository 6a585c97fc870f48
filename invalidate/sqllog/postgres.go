package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/sqltext"
)

// postgresText returns the statements for PostgreSQL.
//
// A server is identified by the start of its postmaster and its timeline, which changes at a
// promotion. The name of the WAL file has the new timeline immediately; the control file has it
// later.
//
// Tables that went back while the server runs are recognized by the row of meta itself. Every write
// of the log notes its transaction in column born, so born equals xmin, which the server sets. A tool
// that puts an old row back writes it in a later transaction, and brings the old born. The server
// keeps xmin of a frozen row, and in VACUUM FULL. A database made from a template keeps xmin, but has
// another oid. A write inside a savepoint has its own xmin, so the log never writes in one.
//
// Rows are found by the id of their transaction. The low-water mark is an id below which no row is
// left. It is the oldest transaction that ran at the last stage. If the stage was full, the mark is
// at most the last transaction that it read. A look therefore skips dead rows that vacuum must not
// remove yet.
func postgresText(c *Config) map[string]string {
	return map[string]string{
		"server": "CASE WHEN current_setting('transaction_read_only') = 'on' THEN '' ELSE " +
			"extract(epoch FROM pg_postmaster_start_time())::text || '/' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) END",
		"place":    "(SELECT d.oid::text FROM pg_catalog.pg_database d WHERE d.datname = current_database())",
		"mark":     "CASE WHEN m.xmin = m.born::xid THEN '' ELSE '" + markText + "' END",
		"payload":  "payload",
		"row":      "o.xmin::text",
		"clock":    "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint",
		"age":      "CASE WHEN isfinite(o.at) THEN (extract(epoch FROM clock_timestamp() - o.at) * 1000000)::bigint ELSE 0 END",
		"pending":  "o.xid >= m.low",
		"order":    "o.xid",
		"low":      "pg_snapshot_xmin(pg_current_snapshot())::text",
		"least":    "least(o.xid, pg_snapshot_xmin(pg_current_snapshot()))::text",
		"last":     notedLast,
		"patience": fmt.Sprintf("SELECT set_config('idle_in_transaction_session_timeout', '%d', true), $1::text", max(c.Bound/8, minPatience).Milliseconds()),
		"begin":    "INSERT INTO {meta} (ns) VALUES ($1) ON CONFLICT (ns) DO NOTHING",
		"lock":     "SELECT FROM {meta} WHERE ns = $1 FOR UPDATE",
		"greatest": "greatest",
		"text":     "::text",
		"touch":    ", born = pg_current_xact_id()",
		"reset":    ", low = '0'",
		"number":   postgresNumberText,
	}
}

// text returns a statement that reads large tables. PostgreSQL keeps the plan of a prepared
// statement until the table is analyzed. A plan made for an empty table reads the table in full,
// and not by its index. Therefore the statement gets another text, and another plan, each time that
// the tables have doubled.
func (l *Log) text(q *sqltext.Query) string {
	if l.cfg.Dialect != Postgres {
		return q.Text
	}
	return q.Text + " /* " + strconv.Itoa(int(l.rows.outbox.Load())) + " " + strconv.Itoa(int(l.rows.log.Load())) + " */"
}

// sizes are the largest numbers of rows that the tables have had, as bit lengths.
type sizes struct{ outbox, log atomic.Uint32 }

// grew notes the number of rows of a table.
func grew(size *atomic.Uint32, rows int64) {
	n := uint32(bits.Len64(uint64(rows))) //nolint:gosec // no number of rows is negative
	if n > size.Load() {                  // concurrent calls may store either size
		size.Store(n)
	}
}

// minPatience is the least time that the server gives a process that is slow, but not frozen.
const minPatience = 50 * time.Millisecond

// writePostgres numbers a batch in one statement, which commits by itself: the client holds no lock
// while it computes. The statement locks the row of meta, deletes the rows, writes the records, and
// moves the notes. It does nothing in another epoch, or on another server, whose rows may have the
// same ids. A row that has the id of a staged one and another content stays: its id was used again,
// or a person changed it. Then the low-water mark stays as well, because it may be above that row.
func (l *Log) writePostgres(ctx context.Context, conn *sql.Conn, b *batch) (n numbered, err error) {
	err = l.row(ctx, conn, &l.sql.number, b.epoch, b.identity, asJSON(b.rows), b.low, b.own,
		b.count[keySeq], b.count[scopeSeq], b.lastID[keySeq], b.lastID[scopeSeq], Channel, asJSON(b.records)).
		Scan(&n.wrote, &n.pos[keySeq], &n.pos[scopeSeq], &n.id[keySeq], &n.id[scopeSeq], &n.rows, &n.now, new(any), new(any))
	if errors.Is(err, sql.ErrNoRows) {
		return numbered{}, nil
	}
	n.held = err == nil
	return n, err
}

// Channel is the channel that the numbering statement notifies on PostgreSQL, with the namespace as
// payload. Writers do not notify: NOTIFY in their transactions would make their commits wait for
// each other.
const Channel = "twofold_log"

// IS TRUE keeps the planner from two plans that it would keep: one by the index on ns, which reads
// the dead rows of each earlier numbering, and a join of loops, which compares every row of the
// outbox with every staged one. Therefore a numbering reads the rows between the first and the last
// staged id, and looks each up in a hash table. Only an outbox of a page or two is read in full.
//
// The final SELECT makes the commit durable even where the session's commits are not. Flushing the
// record also flushes all earlier commits.
const postgresNumberText = `WITH held AS (
	SELECT m.*, {clock} AS began FROM {meta} m WHERE m.ns = $1 AND m.epoch = $2 AND m.identity = $3::text AND m.identity = {identity} FOR UPDATE
), staged (id, content) AS (
	SELECT * FROM json_to_recordset($4::text::json) s(id bigint, content text)
), gone AS (
	DELETE FROM {outbox} o USING held WHERE (o.ns = held.ns) IS TRUE
		AND o.id BETWEEN (SELECT min(s.id) FROM staged s) AND (SELECT max(s.id) FROM staged s)
		AND ((o.id, {row}) IN (SELECT s.id, s.content FROM staged s)) IS TRUE RETURNING o.id
), added AS (
	INSERT INTO {log} (ns, seq, pos, prev, at, id, after, payload)
	SELECT held.ns, rec.seq, CASE rec.seq WHEN 1 THEN held.key_end ELSE held.scope_end END + rec.place, 0, held.began, rec.id,
		CASE WHEN rec.place > 1 THEN rec.after WHEN rec.seq = 1 THEN held.key_id ELSE held.scope_id END, convert_from(decode(rec.payload, 'base64'), 'UTF8')
	FROM held, json_to_recordset($12::text::json) rec(seq smallint, place bigint, id bigint, after bigint, payload text)
	WHERE ($6::boolean OR EXISTS (SELECT FROM gone))
), moved AS (
	UPDATE {meta} m SET
		key_end = held.key_end + $7::bigint, scope_end = held.scope_end + $8::bigint,
		key_id = CASE WHEN $7::bigint > 0 THEN $9::bigint ELSE held.key_id END,
		scope_id = CASE WHEN $8::bigint > 0 THEN $10::bigint ELSE held.scope_id END,
		low = CASE WHEN $5::text = '' OR (SELECT count(*) FROM gone) < (SELECT count(*) FROM staged) THEN held.low
			ELSE greatest(held.low, $5::text::xid8) END,
		born = pg_current_xact_id()
	FROM held WHERE m.ns = held.ns AND ($6::boolean OR EXISTS (SELECT FROM gone))
	RETURNING m.key_end, m.scope_end, m.key_id, m.scope_id
)
SELECT moved.key_end IS NOT NULL, coalesce(moved.key_end, held.key_end), coalesce(moved.scope_end, held.scope_end),
	coalesce(moved.key_id, held.key_id), coalesce(moved.scope_id, held.scope_id), (SELECT count(*) FROM gone), {clock},
	CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', true) END,
	CASE WHEN moved.key_end IS NOT NULL THEN pg_notify($11::text, $1)::text END
FROM held LEFT JOIN moved ON true`
