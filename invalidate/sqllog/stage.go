package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"unicode/utf8"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/sqllog/internal/outbox"
)

// The limits of a stage: rows, and bytes of their texts. The last row may be longer. One of more than
// rowBytes does not parse.
const (
	stageRows  = 1000
	stageBytes = 1 << 20
	rowBytes   = 4 << 20
)

// stage holds rows without a number, as of one moment, and what they name.
type stage struct {
	rows     []staged
	full     bool   // there may be more
	moved    bool   // the log has changed its epoch or its server since the look
	low      string // every row below it is staged, even later ones; PostgreSQL only
	identity string // of the server that has the rows

	keys    []string // keys whose cells to remove
	records bySeq[[]invalidate.Fence]
	damaged int // rows that did not parse
}

// staged is a row as it was read. An id can be used again, after a sequence was reset, a table was
// truncated, or an old copy was put back. Numbering therefore removes a row only if its content is
// the same.
type staged struct {
	ID      int64  `json:"id"`
	Content string `json:"content"` // PostgreSQL: its xmin; SQLite: its text; MariaDB: its time and a hash
}

// stage reads rows without a number on conn. It sets moved when they do not fit v.
func (l *Log) stage(ctx context.Context, conn *sql.Conn, v *state) (st stage, err error) {
	st.identity = v.identity
	rows, err := l.list(ctx, conn, &l.sql.stage, stageRows)
	if err != nil {
		return st, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	size, least := 0, ""
	for rows.Next() {
		var row staged
		var epoch int64
		var text, identity string
		if err := rows.Scan(&row.ID, &text, &row.Content, &epoch, &identity, &st.low, &least); err != nil {
			return st, err
		}
		st.moved = st.moved || epoch != v.epoch || !l.sameServer(v.identity, v.witness.place+identity)
		st.rows = append(st.rows, row)
		grew(&l.rows.outbox, row.ID)
		l.read(&st, text)
		if size += len(text); size >= stageBytes {
			break
		}
	}
	st.full = len(st.rows) == stageRows || size >= stageBytes
	if st.full {
		st.low = least
	}
	return st, rows.Err()
}

// read adds what a row names to the stage.
func (l *Log) read(st *stage, text string) {
	row, ok := outbox.Named{}, false
	if len(text) <= rowBytes && utf8.ValidString(text) { // a larger record may be too large for the server
		row, ok = outbox.Parse(text)
	}
	if !ok {
		st.damaged++
		if l.stats.loggedDamage.CompareAndSwap(false, true) {
			l.logger().Error("sqllog: a row of the outbox does not parse; everything older is given up", "bytes", len(text), "namespace", l.cfg.Namespace)
		}
		return
	}
	first := len(st.keys)
	for _, k := range row.Keys {
		st.keys = append(st.keys, k.String())
		st.add(keySeq, invalidate.Key(k))
	}
	if h, _ := l.hooks.get(); h.Named != nil {
		for _, s := range h.Named(slices.Concat(st.keys[first:], row.Whole)) {
			row.AddScope(s)
		}
	}
	for _, s := range row.Scopes {
		st.add(scopeSeq, s)
	}
	for _, s := range row.Soft {
		st.records[scopeSeq] = append(st.records[scopeSeq], invalidate.Fence{Scope: s, Soft: true})
	}
}

func (st *stage) add(seq int, s invalidate.Scope) {
	st.records[seq] = append(st.records[seq], invalidate.Fence{Scope: s})
}

// removeCells removes the cells of the staged keys. Keys whose cells may remain are also fenced as
// prefixes in the sequence of scopes. Those fences cover the cells for every process, and a process
// that misses one discards all cells. Therefore the lease can be renewed while the remote tier is
// down.
func (s *visit) removeCells(ctx context.Context, st *stage) {
	l := s.log
	h, _ := l.hooks.get()
	if h.Remove == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.cfg.Bound/8)
	defer cancel()
	for keys := range slices.Chunk(st.keys, invalidate.MaxCells) {
		left := keys
		if !s.cellsOut {
			left = leftOf(h.Remove(ctx, keys), keys)
			s.cellsOut = len(left) > 0 && ctx.Err() != nil
		}
		for _, k := range left {
			st.add(scopeSeq, outbox.CellScope(k))
		}
		l.stats.left.Add(int64(len(left)))
	}
}

// leftOf returns the keys whose cells may still be there.
func leftOf(err error, keys []string) []string {
	if err == nil {
		return nil
	}
	partial, ok := errors.AsType[interface {
		error
		FailedKeys() []string
	}](err)
	if ok && len(partial.FailedKeys()) > 0 {
		return partial.FailedKeys()
	}
	return keys // an error that names no keys may be about all
}
