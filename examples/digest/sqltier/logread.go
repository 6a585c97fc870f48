package sqltier

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store/prepared"
	"github.com/twofold-go/twofold/invalidate"
)

// The sequences of a log, as the table numbers them. Arrays by sequence have an unused
// place 0.
const (
	keySeq   = 1
	scopeSeq = 2
)

// pageRecords is the most records of each sequence in one page.
const pageRecords = 1000

// errDoubtful says that the log may have lost its end.
var errDoubtful = errors.New("sqltier: the log is not what it was")

// reading is a transaction in which a caller at some cursor reads the log.
type reading struct {
	ctx context.Context // ends with the transaction
	tx  *prepared.Tx
	log *Log
	at  [3]invalidate.Position

	// What the caller knows beside its place: the ids of the records there, and that
	// of the epoch. 0: not known.
	ids   [3]uint64
	epoch uint64
}

func newReading(ctx context.Context, l *Log, at invalidate.Cursor) reading {
	return reading{
		ctx: ctx, log: l, epoch: at.Epoch,
		at:  [3]invalidate.Position{keySeq: at.Key, scopeSeq: at.Scope},
		ids: [3]uint64{keySeq: at.KeyID, scopeSeq: at.ScopeID},
	}
}

// meta says where the sequences end, and which records stand there and at the caller's
// cursor. The zero meta is that of a log not started.
type meta struct {
	epoch   uint32
	mark    []byte // of the epoch
	n       [3]uint32
	bound   time.Duration
	endMark [3][]byte // nil: there is no such record
	atMark  [3][]byte
}

func (m *meta) end(seq int) invalidate.Position {
	if m.epoch == 0 {
		return 0
	}
	return invalidate.At(m.epoch, m.n[seq])
}

func (r *reading) meta() (m meta, err error) {
	const mark = `(SELECT mark FROM invalidation_log l WHERE l.seq = `
	var bound int64
	err = r.tx.QueryRowContext(r.ctx, `SELECT epoch, mark, key_n, scope_n, bound,
			`+mark+`1 AND l.epoch = m.epoch AND l.n = m.key_n),
			`+mark+`2 AND l.epoch = m.epoch AND l.n = m.scope_n),
			`+mark+`1 AND l.epoch = ? AND l.n = ?),
			`+mark+`2 AND l.epoch = ? AND l.n = ?)
		FROM invalidation_meta m`,
		r.at[keySeq].Epoch(), r.at[keySeq].N(), r.at[scopeSeq].Epoch(), r.at[scopeSeq].N(),
	).Scan(&m.epoch, &m.mark, &m.n[keySeq], &m.n[scopeSeq], &bound,
		&m.endMark[keySeq], &m.endMark[scopeSeq], &m.atMark[keySeq], &m.atMark[scopeSeq])
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	m.bound = time.Duration(bound) * time.Microsecond
	return m, err
}

// doubtful reports whether the log may have lost something: there is none yet, it does
// not end where it says, the caller knows more than the log does, or another record
// than the caller knows stands in its place. The last is how a backup shows that was
// restored into the file, and was appended to since. Where there is no next number the
// log has to go on in another epoch, too.
func (r *reading) doubtful(m *meta) bool {
	if m.epoch == 0 {
		return true
	}
	for _, seq := range []int{keySeq, scopeSeq} {
		if m.endMark[seq] == nil || r.at[seq] > m.end(seq) || m.n[seq] == math.MaxUint32 {
			return true
		}
		// A record that was trimmed away is no reason: its reader sees the gap.
		if r.ids[seq] != 0 && m.atMark[seq] != nil && r.ids[seq] != number(m.atMark[seq]) {
			return true
		}
	}
	return r.epoch != 0 && r.epoch != number(m.mark) && max(r.at[keySeq].Epoch(), r.at[scopeSeq].Epoch()) == m.epoch
}

// behind has one record more than a page of each sequence. The limit is part of the
// text: bound to it, SQLite would plan the statement anew each time.
const behind = `
	SELECT * FROM (SELECT seq, epoch, n, prev_epoch, prev_n, at, mark, prev_mark, payload FROM invalidation_log
		WHERE seq = 1 AND (epoch, n) > (?, ?) ORDER BY epoch, n LIMIT 1001)
	UNION ALL
	SELECT * FROM (SELECT seq, epoch, n, prev_epoch, prev_n, at, mark, prev_mark, payload FROM invalidation_log
		WHERE seq = 2 AND (epoch, n) > (?, ?) ORDER BY epoch, n LIMIT 1001)`

// page returns what lies behind the caller, up to a page's size.
func (r *reading) page(m *meta) (p invalidate.Page, err error) {
	p.Now, p.Bound = r.log.cfg.Now().UnixMicro(), m.bound
	p.End = invalidate.Cursor{
		Key: m.end(keySeq), KeyID: number(m.endMark[keySeq]), Scope: m.end(scopeSeq), ScopeID: number(m.endMark[scopeSeq]),
		Epoch: number(m.mark),
	}
	if r.at[keySeq] >= m.end(keySeq) && r.at[scopeSeq] >= m.end(scopeSeq) {
		return p, nil
	}
	rows, err := r.tx.QueryContext(r.ctx, behind,
		r.at[keySeq].Epoch(), r.at[keySeq].N(), r.at[scopeSeq].Epoch(), r.at[scopeSeq].N())
	if err != nil {
		return p, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	for rows.Next() {
		seq, rec, err := scan(rows)
		if err != nil {
			return p, err
		}
		to := &p.Keys
		if seq == scopeSeq {
			to = &p.Scopes
		}
		if len(*to) == pageRecords {
			p.More = true
			continue
		}
		*to = append(*to, rec)
	}
	return p, rows.Err()
}

// number returns a mark as the id that it is, 0 where there is none.
func number(mark []byte) uint64 {
	if len(mark) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(mark)
}

func scan(rows *sql.Rows) (seq int, rec invalidate.Record, err error) {
	var epoch, n, prevEpoch, prevN uint32
	var mark, prevMark, payload []byte
	if err := rows.Scan(&seq, &epoch, &n, &prevEpoch, &prevN, &rec.Time, &mark, &prevMark, &payload); err != nil {
		return seq, rec, err
	}
	rec.At, rec.ID, rec.After = invalidate.At(epoch, n), number(mark), number(prevMark)
	if n == 0 {
		rec.Bump, rec.Prev = true, invalidate.At(prevEpoch, prevN)
		return seq, rec, nil
	}
	var ok bool
	rec.Fences, ok = decode(payload, seq)
	rec.Damaged = !ok || rec.ID == 0
	return seq, rec, nil
}
