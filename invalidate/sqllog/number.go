package sqllog

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/invalidate"
)

// batch is what one numbering writes: the records of the staged rows, then those of the Sync
// itself.
type batch struct {
	epoch    int64  // the batch is valid only in this epoch
	identity string // and on this server
	rows     []staged
	low      string // if empty, it does not change
	own      bool   // write the records even if other processes have numbered the rows
	records  []record
	count    bySeq[int64] // of records
	lastID   bySeq[int64] // of the last record
}

// record is one record of a batch. Statements get it in JSON.
type record struct {
	Seq     int    `json:"seq"`
	Place   int64  `json:"place"` // distance from the end of its sequence, from 1
	ID      int64  `json:"id"`
	After   int64  `json:"after"` // the id before it in the batch; if 0, the last id of the sequence
	Payload []byte `json:"payload"`
}

// asJSON returns the staged rows, or the records, as one argument that every driver can send.
func asJSON[T any](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	b, _ := json.Marshal(list) //nolint:errchkjson // numbers, texts and bytes always have JSON
	return string(b)
}

// newID returns a random id in the form of the tables. It is never zero.
func newID() int64 { return int64(logwire.NewID()) } //nolint:gosec // the bits count

// batchBytes is the most bytes of texts that one stage writes, because servers limit the size of a
// statement. A stage that names more invalidates everything.
const batchBytes = 8 << 20

func (b *batch) add(seq int, payload string) {
	b.count[seq]++
	r := record{Seq: seq, Place: b.count[seq], ID: newID(), After: b.lastID[seq], Payload: []byte(payload)}
	b.lastID[seq] = r.ID
	b.records = append(b.records, r)
}

// addStage adds the records of a stage: one for each sequence, more only when a record is full, and
// one for all rows that did not parse.
func (b *batch) addStage(st *stage) {
	if st.damaged > 0 {
		b.add(scopeSeq, "") // does not decode, so every process discards everything older
	}
	records, size := st.records, 0
	for seq := range records {
		records[seq] = distinct(records[seq])
		for _, f := range records[seq] {
			size += logwire.Size(f)
		}
	}
	if size > batchBytes {
		records = bySeq[[]invalidate.Fence]{scopeSeq: {{Scope: invalidate.All()}}}
	}
	for seq, fences := range records {
		for len(fences) > 0 {
			var now []invalidate.Fence
			now, fences = logwire.Split(fences)
			b.add(seq, logwire.Encode(now))
		}
	}
}

func distinct(fences []invalidate.Fence) []invalidate.Fence {
	seen := make(map[invalidate.Fence]struct{}, len(fences))
	out := fences[:0]
	for _, f := range fences {
		if _, known := seen[f]; !known {
			seen[f] = struct{}{}
			out = append(out, f)
		}
	}
	return out
}

// numbered is the result of a numbering.
type numbered struct {
	held  bool  // the log was in the batch's epoch, on the batch's server
	wrote bool  // the records are written; if not, other processes have numbered the rows
	rows  int64 // rows that left the outbox
	ends
	now int64
}

// catchUp numbers every row that is committed now, in stages: read rows, remove the cells of the
// keys that they name, number the rows. The visit's own records come after the last stage. catchUp
// holds no connection while it removes cells: the cells may be in the same database, behind the
// same pool.
func (s *visit) catchUp(ctx context.Context, v *state) (p invalidate.Page, done bool, err error) {
	for {
		var st stage
		if v.pending.Valid {
			err = withConn(ctx, s.reads(), func(conn *sql.Conn) error {
				st, err = s.log.stage(ctx, conn, v)
				return err
			})
		}
		if err != nil || st.moved || v.pending.Valid && len(st.rows) == 0 {
			return p, false, err // an empty stage may come from another server: look again
		}
		s.removeCells(ctx, &st)
		n, err := s.number(ctx, v, &st, &p)
		switch {
		case err != nil || !n.held:
			return p, false, err
		case st.full:
			v.pos, v.id = n.pos, n.id
			continue
		}
		s.caughtUp = true
		return p, n.wrote, nil
	}
}

// number writes the records of a stage and, after the last stage, those of the visit. Then it
// reads the page, on the same connection.
func (s *visit) number(ctx context.Context, v *state, st *stage, p *invalidate.Page) (n numbered, err error) {
	b := batch{epoch: v.epoch, identity: v.identity, rows: st.rows, low: st.low}
	b.addStage(st)
	if !st.full {
		for seq, payload := range s.own {
			if payload != "" {
				b.own = true
				b.add(seq, payload)
			}
		}
	}
	if len(b.rows) == 0 && !b.own { // other processes were faster
		return numbered{held: true}, nil
	}
	err = withConn(ctx, s.log.db, func(conn *sql.Conn) error {
		n, err = s.log.write(ctx, conn, v, &b)
		if err != nil || !n.wrote || st.full {
			return err
		}
		return s.pageAfter(ctx, conn, v, n, p)
	})
	s.log.stats.numbered.Add(n.rows)
	if n.rows > 0 {
		s.log.stats.damaged.Add(int64(st.damaged))
	}
	return n, err
}

// pageAfter reads the page from the caller's position up to what the batch has written.
func (s *visit) pageAfter(ctx context.Context, conn *sql.Conn, v *state, n numbered, p *invalidate.Page) (err error) {
	before := v.pos
	v.pos, v.id, v.now = n.pos, n.id, n.now
	*p, err = s.page(ctx, conn, v)
	if len(s.own[keySeq]) > 0 {
		p.Key = v.position(keySeq)
	}
	if len(s.own[scopeSeq]) > 0 {
		p.Scope = v.position(scopeSeq)
	}
	s.log.trim(ctx, conn, before, v.pos)
	return err
}

// trimEvery is how many records are appended between two removals of old records.
const trimEvery = 256

// trim keeps the newest Retain records of each sequence, and removes older ones from time to time.
// It only logs a failure, because the next trim removes these records, too.
func (l *Log) trim(ctx context.Context, conn *sql.Conn, before, end bySeq[int64]) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for seq := keySeq; seq <= scopeSeq; seq++ {
		if before[seq]/trimEvery == end[seq]/trimEvery {
			continue
		}
		if _, err := l.exec(ctx, conn, &l.sql.trim, seq, l.cfg.Retain); err != nil {
			l.logger().Warn("sqllog: old records were not removed", "namespace", l.cfg.Namespace, "error", err)
		}
	}
}

// write numbers a batch as the dialect requires.
func (l *Log) write(ctx context.Context, conn *sql.Conn, v *state, b *batch) (numbered, error) {
	switch l.cfg.Dialect {
	case Postgres:
		return l.writePostgres(ctx, conn, b)
	case SQLite:
		return l.writeSQLite(ctx, conn, b)
	case MariaDB:
	}
	return l.writeMariaDB(ctx, conn, v, b)
}

// remove deletes the staged rows that are as they were staged.
func (l *Log) remove(ctx context.Context, on queryer, b *batch) (int64, error) {
	gone, err := l.exec(ctx, on, &l.sql.remove, asJSON(b.rows), b.epoch)
	if err != nil {
		return 0, err
	}
	return gone.RowsAffected()
}

// note moves the notes to where the sequences end, and reads the clock.
func (l *Log) note(ctx context.Context, on queryer, b *batch, n *numbered) error {
	_, err := l.exec(ctx, on, &l.sql.notes, b.epoch, n.pos[keySeq], n.pos[scopeSeq], n.id[keySeq], n.id[scopeSeq])
	if err == nil {
		err = l.row(ctx, on, &l.sql.now).Scan(&n.now)
	}
	return err
}
