package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/logwire"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// The sequences of a log, as the table numbers them. Arrays by sequence do not use index 0.
const (
	keySeq   = 1
	scopeSeq = 2
)

// bySeq holds one value for each sequence.
type bySeq[T any] [3]T

// ends is where the sequences of a log end: their last positions, and the ids of the records there.
type ends struct {
	epoch   int64 // the id of the epoch; 0 if the log was not started
	pos, id bySeq[int64]
}

// endsOf returns a cursor as tables hold it. No record has a higher position than a signed number holds.
func endsOf(c invalidate.Cursor) ends {
	signed := func(p invalidate.Position) int64 { return int64(min(p, math.MaxInt64)) } //nolint:gosec // is limited
	return ends{
		epoch: int64(c.Epoch), //nolint:gosec // the bits count
		pos:   bySeq[int64]{keySeq: signed(c.Key), scopeSeq: signed(c.Scope)},
		id:    bySeq[int64]{keySeq: int64(c.KeyID), scopeSeq: int64(c.ScopeID)}, //nolint:gosec // the bits count
	}
}

// cursor is the reverse of endsOf.
func (e *ends) cursor() invalidate.Cursor {
	return invalidate.Cursor{
		Key: e.position(keySeq), KeyID: uint64(e.id[keySeq]), //nolint:gosec // the bits count
		Scope: e.position(scopeSeq), ScopeID: uint64(e.id[scopeSeq]), //nolint:gosec // the bits count
		Epoch: uint64(e.epoch), //nolint:gosec // the bits count
	}
}

func (e *ends) position(seq int) invalidate.Position { return invalidate.Position(e.pos[seq]) } //nolint:gosec // not negative

// readEnds reads the notes in meta.
func (l *Log) readEnds(ctx context.Context, on queryer) (e ends, err error) {
	err = l.row(ctx, on, &l.sql.ends).Scan(&e.pos[keySeq], &e.pos[scopeSeq], &e.epoch, &e.id[keySeq], &e.id[scopeSeq])
	return e, err
}

// state is that of a log as of one moment, and what the caller's cursor finds there. The zero
// state is a log that was not started.
type state struct {
	ends                    // on MariaDB they may be after noted
	noted    ends           // according to meta
	foundID  bySeq[nullInt] // the record at noted
	callerID bySeq[nullInt] // the record at the caller's cursor
	bound    int64          // in ms
	tier     sql.NullString // the tier of the fleet
	stored   string         // identity of the server that the epoch began on
	identity string         // identity of the server that answered
	now      int64          // its clock
	witness  witness        // evidence from outside the tables
	pending  nullInt        // the age in microseconds of a row without a number
}

type nullInt = sql.NullInt64

// unchanged asks the cheapest question: is nothing new to the caller? It saves half of the time of a
// look. It is not used on MariaDB, where the notes may be older than the records.
func (s *visit) unchanged(ctx context.Context, conn *sql.Conn) (p invalidate.Page, yes bool, err error) {
	l, at := s.log, endsOf(s.at)
	if len(s.own[keySeq])+len(s.own[scopeSeq]) > 0 || at.epoch == 0 || at.id[keySeq] == 0 || at.id[scopeSeq] == 0 || l.cfg.Dialect == MariaDB {
		return p, false, nil
	}
	if w, err := l.witness(ctx, conn); err != nil || w.place != "" || l.contradicts(&w, &at) {
		return p, false, err
	}
	v := state{identity: "known"}
	err = l.row(ctx, conn, &l.sql.unchanged, at.pos[keySeq], at.pos[scopeSeq], at.id[keySeq], at.id[scopeSeq], at.epoch).
		Scan(&v.bound, &v.tier, &v.now)
	if errors.Is(err, sql.ErrNoRows) || err == nil && (l.refuses(&v) != nil || l.outdated(&v)) {
		return p, false, nil
	}
	if err == nil && s.sync {
		p = invalidate.Page{Now: v.now, End: s.at, Bound: time.Duration(v.bound) * time.Millisecond}
	}
	l.stats.oldest.Store(0)
	return p, err == nil, err
}

// look reads the state of the log.
func (l *Log) look(ctx context.Context, on queryer, at invalidate.Cursor) (v state, err error) {
	caller := endsOf(at)
	if v.witness, err = l.witness(ctx, on); err != nil { // before meta: a numbering writes both, meta last
		return v, err
	}
	var version string
	err = l.row(ctx, on, &l.sql.look, caller.pos[keySeq], caller.pos[scopeSeq]).Scan(
		&version, &v.epoch, &v.noted.pos[keySeq], &v.noted.pos[scopeSeq], &v.noted.id[keySeq], &v.noted.id[scopeSeq],
		&v.bound, &v.tier, &v.stored, &v.identity, &v.now,
		&v.foundID[keySeq], &v.foundID[scopeSeq], &v.callerID[keySeq], &v.callerID[scopeSeq],
		&v.pos[keySeq], &v.pos[scopeSeq], &v.id[keySeq], &v.id[scopeSeq], &v.pending)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return state{witness: v.witness}, nil
	case err != nil:
		return state{}, err
	case version != logwire.Version:
		return state{}, fmt.Errorf("%w (version is %s, want %s)", ErrSchema, version, logwire.Version)
	}
	if v.identity != "" {
		v.identity = v.witness.place + v.identity
	}
	if l.contradicts(&v.witness, &v.ends) && v.identity != "" {
		v.identity = markText + v.identity
	}
	if l.sameServer(v.stored, v.identity) {
		v.identity = v.stored
	}
	grew(&l.rows.log, int64(v.position(keySeq).N())+int64(v.position(scopeSeq).N()))
	l.stats.oldest.Store(max(0, v.pending.Int64) * int64(time.Microsecond))
	return v, nil
}

// doubtful reports whether the log may have lost something. There is no log yet, or another
// server answers, or the tables went back, or a sequence does not end where its notes say. Or the
// caller knows more than the log, another record at its position, or another epoch. It also reports
// true when the numbers of an epoch run out, because the log must then start another epoch.
func (v *state) doubtful(c invalidate.Cursor) bool {
	if v.epoch == 0 || v.stored != v.identity {
		return true
	}
	at, epoch := endsOf(c), v.position(keySeq).Epoch()
	for seq := keySeq; seq <= scopeSeq; seq++ {
		end, noted, found, known := v.position(seq), v.noted.position(seq), v.foundID[seq], v.callerID[seq]
		switch {
		case at.position(seq) > end, end < noted, end.Epoch() != epoch, noted.Epoch() != epoch, end.N() > math.MaxUint32-1_000_000:
			return true
		case safeguard.Off(safeguard.IDs):
		case !found.Valid || found.Int64 != v.noted.id[seq]:
			return true
		case at.id[seq] != 0 && known.Valid && known.Int64 != at.id[seq]: // a record that was trimmed is no reason: its reader sees the gap
			return true
		}
	}
	same := at.epoch == 0 || at.epoch == v.epoch || safeguard.Off(safeguard.IDs)
	return !same && max(c.Key.Epoch(), c.Scope.Epoch()) == epoch
}
