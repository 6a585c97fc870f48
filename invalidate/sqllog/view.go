package sqllog

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// The sequences of a log, as the table numbers them. Arrays by sequence do not use index 0.
const (
	keySeq   = 1
	scopeSeq = 2
)

// bySeq holds one value for each sequence.
type bySeq[T any] [3]T

// view is the state of a log as of one moment, and what the caller's cursor finds there. The zero
// view is a log that was not started.
type view struct {
	epoch    int64          // the id of the epoch; 0 if not started
	noted    bySeq[int64]   // where the sequences end according to meta
	notedID  bySeq[int64]   // the ids of the records there, according to meta
	end      bySeq[int64]   // where the sequences end; on MySQL it may be after noted
	endID    bySeq[int64]   //
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

// still asks the cheapest question: is nothing new to the caller? It saves half of the time of a
// look. It is not used on MySQL, where the notes may be older than the records.
func (s *visit) still(ctx context.Context, conn *sql.Conn) (p invalidate.Page, yes bool, err error) {
	l, at := s.log, s.at
	if len(s.own[keySeq])+len(s.own[scopeSeq]) > 0 || at.Epoch == 0 || at.KeyID == 0 || at.ScopeID == 0 || l.cfg.Dialect == MySQL {
		return p, false, nil
	}
	if w, err := l.witness(ctx, conn); err != nil || w.place != "" || l.denies(&w, int64(at.Epoch), //nolint:gosec // the bits count
		bySeq[int64]{keySeq: position(at.Key), scopeSeq: position(at.Scope)},
		bySeq[int64]{keySeq: int64(at.KeyID), scopeSeq: int64(at.ScopeID)}) { //nolint:gosec // the bits count
		return p, false, err
	}
	args, err := l.identify(ctx, conn, position(at.Key), position(at.Scope),
		int64(at.KeyID), int64(at.ScopeID), int64(at.Epoch)) //nolint:gosec // the bits count
	if err != nil {
		return p, false, err
	}
	v := view{identity: "known"}
	err = l.row(ctx, conn, &l.sql.still, args...).Scan(&v.bound, &v.tier, &v.now, new(any))
	if errors.Is(err, sql.ErrNoRows) || err == nil && (l.refuses(&v) != nil || l.outdated(&v)) {
		return p, false, nil
	}
	if err == nil && s.proves {
		p = invalidate.Page{Now: v.now, End: at, Bound: time.Duration(v.bound) * time.Millisecond}
	}
	l.stats.oldest.Store(0)
	return p, err == nil, err
}

// look reads the state of the log on conn.
func (l *Log) look(ctx context.Context, on queryer, conn *sql.Conn, at invalidate.Cursor) (v view, err error) {
	args, err := l.identify(ctx, conn, position(at.Key), position(at.Scope))
	if err != nil {
		return v, err
	}
	if v.witness, err = l.witness(ctx, on); err != nil { // before meta: a numbering writes both, meta last
		return v, err
	}
	var version string
	var key, scope, keyID, scopeID nullInt
	err = l.row(ctx, on, &l.sql.look, args...).Scan(
		&version, &v.epoch, &v.noted[keySeq], &v.noted[scopeSeq], &v.notedID[keySeq], &v.notedID[scopeSeq],
		&v.bound, &v.tier, &v.stored, &v.identity, &v.now,
		&v.foundID[keySeq], &v.foundID[scopeSeq], &v.callerID[keySeq], &v.callerID[scopeSeq],
		&key, &scope, &keyID, &scopeID, &v.pending, new(any))
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return view{witness: v.witness}, nil
	case err != nil:
		return view{}, err
	case version != l.sql.version:
		return view{}, fmt.Errorf("%w (version is %s, want %s; a higher one needs a newer program)", ErrSchema, version, l.sql.version)
	}
	v.end = bySeq[int64]{keySeq: key.Int64, scopeSeq: scope.Int64}
	v.endID = bySeq[int64]{keySeq: keyID.Int64, scopeSeq: scopeID.Int64}
	if v.identity != "" {
		v.identity = v.witness.place + v.identity
	}
	if l.denies(&v.witness, v.epoch, v.end, v.endID) && v.identity != "" {
		v.identity = markText + v.identity
	}
	if l.sameServer(v.stored, v.identity) {
		v.identity = v.stored
	}
	grew(&l.rows.log, int64(v.position(keySeq).N())+int64(v.position(scopeSeq).N()))
	l.stats.oldest.Store(max(0, v.pending.Int64) * int64(time.Microsecond))
	return v, nil
}

// identify adds the result of Config.Identity, if set, to the arguments of a query.
func (l *Log) identify(ctx context.Context, conn *sql.Conn, args ...any) ([]any, error) {
	if l.cfg.Identity == nil {
		return args, nil
	}
	identity, err := l.cfg.Identity(ctx, conn)
	if err != nil {
		return nil, fmt.Errorf("%w: Config.Identity: %w", ErrStandby, err)
	}
	return append(args, identity), nil
}

// position returns a position as tables hold it. No record has a position above these.
func position(p invalidate.Position) int64 { return int64(min(p, math.MaxInt64)) } //nolint:gosec // is limited

// doubtful reports whether the log may have lost something. There is no log yet, or another
// server answers, or the tables went back, or a sequence does not end where its notes say. Or the caller knows more than
// the log, another record at its position, or another epoch. It also reports true when the
// numbers of an epoch run out, because the log must then start another epoch.
func (v *view) doubtful(at invalidate.Cursor) bool {
	if v.epoch == 0 || v.stored != v.identity {
		return true
	}
	ids := bySeq[uint64]{keySeq: at.KeyID, scopeSeq: at.ScopeID}
	positions := bySeq[invalidate.Position]{keySeq: at.Key, scopeSeq: at.Scope}
	for seq, p := range positions {
		if seq != 0 && v.doubtfulAt(seq, p, ids[seq]) {
			return true
		}
	}
	same := at.Epoch == 0 || at.Epoch == uint64(v.epoch) || safeguard.Off(safeguard.IDs) //nolint:gosec // the bits count
	return !same && max(at.Key.Epoch(), at.Scope.Epoch()) == v.position(keySeq).Epoch()
}

func (v *view) doubtfulAt(seq int, at invalidate.Position, id uint64) bool {
	end, noted := v.position(seq), invalidate.Position(v.noted[seq]) //nolint:gosec // no position is negative
	switch {
	case at > end, end < noted, end.Epoch() != noted.Epoch():
		return true
	case end.Epoch() != v.position(keySeq).Epoch(), end.N() > math.MaxUint32-1_000_000:
		return true
	case safeguard.Off(safeguard.IDs):
		return false
	case !v.foundID[seq].Valid || v.foundID[seq].Int64 != v.notedID[seq]:
		return true
	}
	// A trimmed record is not a reason for doubt, because its reader sees the gap.
	known := v.callerID[seq]
	return id != 0 && known.Valid && uint64(known.Int64) != id //nolint:gosec // the bits count
}

// position returns where a sequence ends.
func (v *view) position(seq int) invalidate.Position { return invalidate.Position(v.end[seq]) } //nolint:gosec // not negative

// cursor returns the end of the log.
func (v *view) cursor() invalidate.Cursor {
	return invalidate.Cursor{
		Key: v.position(keySeq), KeyID: uint64(v.endID[keySeq]), //nolint:gosec // the bits count
		Scope: v.position(scopeSeq), ScopeID: uint64(v.endID[scopeSeq]), //nolint:gosec // the bits count
		Epoch: uint64(v.epoch), //nolint:gosec // the bits count
	}
}
