package sqllog

import (
	"context"
	"database/sql"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// The limits of a page: records of each sequence, and bytes of fences.
const (
	pageRecords = 1000
	pageBytes   = 4 << 20
)

// page returns the records after the caller's position, up to the end in v. The page of a Tail has
// no End.
func (s *visit) page(ctx context.Context, conn *sql.Conn, v *state) (p invalidate.Page, err error) {
	if s.sync {
		p.Now, p.End, p.Bound = v.now, v.cursor(), time.Duration(v.bound)*time.Millisecond
	}
	if s.at.Key >= v.position(keySeq) && s.at.Scope >= v.position(scopeSeq) {
		return p, nil
	}
	from := endsOf(s.at)
	rows, err := s.log.list(ctx, conn, &s.log.sql.page, from.pos[keySeq], from.pos[scopeSeq], v.pos[keySeq], v.pos[scopeSeq])
	if err != nil {
		return p, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	var more bool
	for size := 0; rows.Next() && size < pageBytes; {
		seq, rec, n, err := scan(rows)
		if err != nil {
			return p, err
		}
		size += n
		if s.sync {
			p.Now = max(p.Now, rec.Time) // the clock is read when a statement begins
		}
		to := &p.Keys
		if seq == scopeSeq {
			to = &p.Scopes
		}
		if more = more || len(*to) == pageRecords || size >= pageBytes; len(*to) < pageRecords {
			*to = append(*to, rec)
		}
	}
	p.More = more && s.sync
	return p, rows.Err()
}

// scan reads a record and returns the size of its payload.
func scan(rows *sql.Rows) (seq int, rec invalidate.Record, size int, err error) {
	var pos, prev, id, after int64
	var payload string
	if err := rows.Scan(&seq, &pos, &prev, &rec.Time, &id, &after, &payload); err != nil {
		return seq, rec, 0, err
	}
	rec.At, rec.ID, rec.After = invalidate.Position(pos), uint64(id), uint64(after) //nolint:gosec // the bits count
	if rec.At.N() == 0 {
		rec.Bump, rec.Prev = true, invalidate.Position(prev) //nolint:gosec // not negative
		return seq, rec, 0, nil
	}
	var ok bool
	rec.Fences, ok = logwire.Decode(payload, seq == keySeq)
	rec.Damaged = !ok || rec.ID == 0
	return seq, rec, len(payload), nil
}
