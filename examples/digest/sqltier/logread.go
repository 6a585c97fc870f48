package sqltier

import (
	"context"
	"database/sql"
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
}

// meta says where the sequences end, and which records stand there and at the caller's
// cursor. The zero meta is that of a log not started.
type meta struct {
	epoch   uint32
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
	err = r.tx.QueryRowContext(r.ctx, `SELECT epoch, key_n, scope_n, bound,
			`+mark+`1 AND l.epoch = m.epoch AND l.n = m.key_n),
			`+mark+`2 AND l.epoch = m.epoch AND l.n = m.scope_n),
			`+mark+`1 AND l.epoch = ? AND l.n = ?),
			`+mark+`2 AND l.epoch = ? AND l.n = ?)
		FROM invalidation_meta m`,
		r.at[keySeq].Epoch(), r.at[keySeq].N(), r.at[scopeSeq].Epoch(), r.at[scopeSeq].N(),
	).Scan(&m.epoch, &m.n[keySeq], &m.n[scopeSeq], &bound,
		&m.endMark[keySeq], &m.endMark[scopeSeq], &m.atMark[keySeq], &m.atMark[scopeSeq])
	if errors.Is(err, sql.ErrNoRows) {
		return m, nil
	}
	m.bound = time.Duration(bound) * time.Microsecond
	return m, err
}

// doubtful reports whether the log may have lost something: there is none yet, it does
// not end where it says, the caller knows more than the log does, or another record
// than this process was shown stands in its place. The last is how a backup is found
// out that was restored into the file, and was appended to since. Where there is no
// next number it has to go on in another epoch, too.
func (r *reading) doubtful(m *meta) bool {
	if m.epoch == 0 {
		return true
	}
	for _, seq := range []int{keySeq, scopeSeq} {
		if m.endMark[seq] == nil || r.at[seq] > m.end(seq) || m.n[seq] == math.MaxUint32 {
			return true
		}
		// A record that was trimmed away is no reason: its reader sees the gap.
		if seen, known := r.log.seen(seq, r.at[seq]); known && m.atMark[seq] != nil && seen != string(m.atMark[seq]) {
			return true
		}
	}
	return false
}

// behind has one record more than a page of each sequence. The limit is part of the
// text: bound to it, SQLite would plan the statement anew each time.
const behind = `
	SELECT * FROM (SELECT seq, epoch, n, prev_epoch, prev_n, at, mark, payload FROM invalidation_log
		WHERE seq = 1 AND (epoch, n) > (?, ?) ORDER BY epoch, n LIMIT 1001)
	UNION ALL
	SELECT * FROM (SELECT seq, epoch, n, prev_epoch, prev_n, at, mark, payload FROM invalidation_log
		WHERE seq = 2 AND (epoch, n) > (?, ?) ORDER BY epoch, n LIMIT 1001)`

// page returns what lies behind the caller, up to a page's size.
func (r *reading) page(m *meta) (p invalidate.Page, err error) {
	p.Now, p.Bound = r.log.cfg.Now().UnixMicro(), m.bound
	if r.at[keySeq] >= m.end(keySeq) && r.at[scopeSeq] >= m.end(scopeSeq) {
		return p, nil
	}
	rows, err := r.tx.QueryContext(r.ctx, behind,
		r.at[keySeq].Epoch(), r.at[keySeq].N(), r.at[scopeSeq].Epoch(), r.at[scopeSeq].N())
	if err != nil {
		return p, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var last [3]end
	for rows.Next() {
		seq, rec, mark, err := scan(rows)
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
		*to, last[seq] = append(*to, rec), end{rec.At, string(mark)}
	}
	if err := rows.Err(); err != nil {
		return p, err
	}
	r.log.show(last)
	return p, nil
}

func scan(rows *sql.Rows) (seq int, rec invalidate.Record, mark []byte, err error) {
	var epoch, n, prevEpoch, prevN uint32
	var payload []byte
	if err := rows.Scan(&seq, &epoch, &n, &prevEpoch, &prevN, &rec.Time, &mark, &payload); err != nil {
		return seq, rec, nil, err
	}
	rec.At = invalidate.At(epoch, n)
	if n == 0 {
		rec.Bump, rec.Prev = true, invalidate.At(prevEpoch, prevN)
		return seq, rec, mark, nil
	}
	var ok bool
	rec.Fences, ok = decode(payload, seq)
	rec.Damaged = !ok
	return seq, rec, mark, nil
}

// seen returns the mark of the record at a position, if this process was shown it.
func (l *Log) seen(seq int, at invalidate.Position) (mark string, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.ends[seq]
	return e.mark, e.at == at && at != 0
}

// show remembers the last records that this process was shown.
func (l *Log) show(last [3]end) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for seq, e := range last {
		if e.at != 0 {
			l.ends[seq] = e
		}
	}
}
