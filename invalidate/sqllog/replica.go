package sqllog

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/invalidate"
)

// noteApplied notes the caller's cursor: the last records that it has applied.
func (l *Log) noteApplied(at invalidate.Cursor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at.Key >= l.at.Key && at.Scope >= l.at.Scope {
		l.at.Epoch = at.Epoch
	}
	l.at.Key, l.at.Scope = max(l.at.Key, at.Key), max(l.at.Scope, at.Scope)
}

// noteAnswer notes a page before Sync or Tail returns it. The caller applies the page immediately,
// and may load before it calls again.
func (l *Log) noteAnswer(p invalidate.Page) {
	at := p.End
	for _, r := range p.Keys {
		at.Key = max(at.Key, r.At)
	}
	for _, r := range p.Scopes {
		at.Scope = max(at.Scope, r.At)
		if r.Bump && p.End.Epoch == 0 {
			at.Epoch = r.ID
		}
	}
	l.mu.Lock()
	at.Key, at.Scope, at.Epoch = cmp.Or(at.Key, l.at.Key), cmp.Or(at.Scope, l.at.Scope), cmp.Or(at.Epoch, l.at.Epoch)
	l.mu.Unlock()
	l.noteApplied(at)
}

// Replica reports whether db has reached everything that this process has applied. Db is a pool on
// one read replica of the log's database, and must always lead to the same replica. A loader calls
// Replica before it reads from the replica. It reads from the primary when the answer is false.
// Then the loaded data is never older than an invalidation that the process knows.
//
// Before the first Sync of this process the answer is false.
func (l *Log) Replica(ctx context.Context, db *sql.DB) (bool, error) {
	if err := l.Validate(); err != nil {
		return false, err
	}
	if db == nil {
		return false, fmt.Errorf("%w: db of Replica is nil; pass the replica's pool", ErrConfig)
	}
	l.mu.Lock()
	at := l.at
	l.mu.Unlock()
	if at.Key == 0 || at.Scope == 0 {
		return false, nil
	}
	has, err := l.readEnds(ctx, db)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fail("replica", err)
	}
	reached := has.position(keySeq) >= at.Key && has.position(scopeSeq) >= at.Scope
	return reached && (at.Epoch == 0 || at.Epoch == has.cursor().Epoch), nil
}
