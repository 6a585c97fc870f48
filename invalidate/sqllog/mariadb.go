package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// mariadbText returns the statements for MariaDB.
//
// A server is identified by its id, its start time and the clock sequence of UUID(). The start time
// is computed from seconds and may be off by one or two. The server draws the clock sequence when it
// starts, so a restart within these seconds differs, too.
//
// Tables that went back while the server runs are recognized in two ways. Column wit of meta is a
// FLOAT that holds 16777215, and a dump prints it with six digits, as 16777200. The time at which
// the server created the table tells apart copies that were made inside the server.
//
// A read-only server takes no writes. A session at READ UNCOMMITTED would
// number uncommitted rows, so it counts as read-only.
func mariadbText(c *Config) map[string]string {
	const (
		readOnly = "(@@global.read_only OR @@tx_read_only OR @@tx_isolation = 'READ-UNCOMMITTED')"
		server   = "@@server_id, '@', @@hostname, ':', @@port"
		started  = "CAST(UNIX_TIMESTAMP() - (SELECT variable_value FROM information_schema.session_status WHERE variable_name = 'Uptime') AS SIGNED)"
		clock    = "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))"
		last     = "COALESCE((SELECT l.%s FROM {log} l WHERE l.ns = m.ns AND l.seq = %d ORDER BY l.pos DESC LIMIT 1), 0)"
	)
	schema := "DATABASE()"
	if c.Tables.Schema != "" {
		schema = "'" + c.Tables.Schema + "'"
	}
	return map[string]string{
		"server": "CASE WHEN " + readOnly + " THEN '' ELSE CONCAT(" + server + ", ':', SUBSTR(UUID(), 20, 4), '/', " + started + ") END",
		// In seconds since 1970, because the table shows it in the time zone of the session. The
		// hour that a clock change repeats stays ambiguous; see the package documentation.
		"place": "COALESCE((SELECT UNIX_TIMESTAMP(t.create_time) FROM information_schema.tables t" +
			" WHERE t.table_schema = " + schema + " AND t.table_name = '" + c.Tables.Meta + "'), '')",
		"mark":     "IF(m.wit = 16777215, '', '" + markText + "')",
		"payload":  "CAST(payload AS BINARY)", // the same bytes for a connection of any character set
		"row":      "CONCAT(o.at, ' ', SHA1(o.scopes))",
		"clock":    clock,
		"age":      clock + " - o.at",
		"pending":  "1",
		"order":    "o.id",
		"low":      "''",
		"least":    "''",
		"last":     fmt.Sprintf(last+", "+last+", "+last+", "+last, "pos", keySeq, "pos", scopeSeq, "id", keySeq, "id", scopeSeq),
		"begin":    "INSERT IGNORE INTO {meta} (ns) VALUES ($1)",
		"lock":     "SELECT ns FROM {meta} WHERE ns = $1 FOR UPDATE",
		"greatest": "greatest",
		"text":     "",
		"touch":    "",
		"reset":    ", wit = 16777215",
		"number":   mariadbNumberText,
		"remove":   mariadbRemoveText,
	}
}

// sameServer compares two identities.
func (l *Log) sameServer(stored, identity string) bool {
	if l.cfg.Dialect == MariaDB {
		return sameMariaDB(stored, identity)
	}
	return stored == identity
}

// sameMariaDB compares two identities, whose seconds may differ by rounding.
func sameMariaDB(stored, identity string) bool {
	a, b := strings.LastIndexByte(stored, '/'), strings.LastIndexByte(identity, '/')
	if stored == identity || a < 0 || b < 0 || stored[:a] != identity[:b] {
		return stored == identity
	}
	since, err := strconv.ParseInt(stored[a+1:], 10, 64)
	now, err2 := strconv.ParseInt(identity[b+1:], 10, 64)
	return err == nil && err2 == nil && max(since, now)-min(since, now) <= 2
}

// writeMariaDB numbers a batch in two statements that commit separately. MariaDB has no statement that
// writes two tables, and a process that freezes must not hold a lock. The first statement writes
// records with numbers that the client computed. When two processes use the same numbers, one of
// them fails and looks again. The second statement removes the rows. When a process ends between
// the two statements, the rows are numbered twice, which does no harm.
//
// The notes are written last, so the log may end after them.
func (l *Log) writeMariaDB(ctx context.Context, conn *sql.Conn, v *state, b *batch) (n numbered, err error) {
	if held, err := l.onServer(ctx, conn, b.identity); err != nil || !held {
		return n, err
	}
	if len(b.records) > 0 {
		wrote, err := l.exec(ctx, conn, &l.sql.number, b.epoch, asJSON(b.records),
			v.pos[keySeq], v.pos[scopeSeq], v.id[keySeq], v.id[scopeSeq])
		if err != nil {
			return n, err
		}
		if many, err := wrote.RowsAffected(); err != nil || many == 0 {
			return n, err
		}
	}
	n = numbered{held: true, wrote: true, ends: v.ends}
	for seq, many := range b.count {
		if n.pos[seq] += many; many > 0 {
			n.id[seq] = b.lastID[seq]
		}
	}
	if len(b.rows) > 0 {
		n.rows, err = l.remove(ctx, conn, b)
	}
	if err == nil {
		err = l.note(ctx, conn, b, &n)
	}
	return n, err
}

// The lock on meta keeps a new epoch from starting below the records. MariaDB takes arguments without another
// operand for texts, and would compute with them in floating point, hence the CAST.
const mariadbNumberText = `INSERT INTO {log} (ns, seq, pos, prev, at, id, after, payload)
SELECT m.ns, r.seq, CAST(CASE r.seq WHEN 1 THEN $4 ELSE $5 END AS SIGNED) + r.place, 0, {clock}, r.id,
	CASE WHEN r.place > 1 THEN r.after WHEN r.seq = 1 THEN $6 ELSE $7 END, CONVERT(FROM_BASE64(r.payload) USING utf8mb4)
FROM {meta} m JOIN JSON_TABLE($3, '$[*]' COLUMNS (seq SMALLINT PATH '$.seq', place BIGINT PATH '$.place', id BIGINT PATH '$.id',
	after BIGINT PATH '$.after', payload LONGTEXT PATH '$.payload')) r
WHERE m.ns = $1 AND m.epoch = $2 LOCK IN SHARE MODE`

// The statement finds each row by its primary key. A range of any index would also lock the row after
// it, and wait for the transaction that wrote that row.
const mariadbRemoveText = `DELETE o FROM JSON_TABLE($2, '$[*]' COLUMNS (id BIGINT PATH '$.id', content VARCHAR(64) PATH '$.content')) r
	STRAIGHT_JOIN {outbox} o FORCE INDEX (PRIMARY) ON o.id = r.id WHERE o.ns = $1 AND CAST({row} AS BINARY) = CAST(r.content AS BINARY)`

// onServer reports whether the connection is to the server with that identity.
func (l *Log) onServer(ctx context.Context, conn *sql.Conn, identity string) (bool, error) {
	var now string
	err := l.row(ctx, conn, &l.sql.server).Scan(&now)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return l.sameServer(identity, now), err
}
