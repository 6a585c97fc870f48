package fence

import (
	"github.com/twofold-go/twofold/invalidate"
)

// Findings counts what one page contained.
type Findings struct {
	Records, Gaps, Bumps, Damaged int
	Oldest                        int64 // Record.Time of the oldest record applied; 0: unknown or none
}

// Cursor returns the position up to which this process has applied each sequence without a gap.
func (f *Fences) Cursor() invalidate.Cursor {
	if c := f.applied.Load(); c != nil {
		return *c
	}
	return invalidate.Cursor{}
}

// Follow applies the records of a page that this process has not applied yet. Redis does not report
// records that were trimmed or lost in a failover; it skips them. But a sequence is dense, and each
// record names the one before it. So Follow detects a hole, and a record of another history. It
// then invalidates everything that the missing records may have covered. The caller makes sure that only
// one Follow runs at a time.
//
// The cursor moves after all fences of the page are stored. Follow calls see for each record, after
// it has stored the record's fences; followed reports whether no record is missing before it.
func (f *Fences) Follow(p invalidate.Page, see func(r *invalidate.Record, followed bool)) (found Findings) {
	at := f.Cursor()
	keyEpoch, scopeEpoch := at.Epoch, at.Epoch
	for _, r := range p.Keys {
		if r.At <= at.Key {
			continue
		}
		inOrder := follows(&r, at.Key, at.KeyID)
		found.count(r, inOrder)
		f.followKey(r, at.Key > 0 && inOrder)
		see(&r, inOrder)
		keyEpoch = epochOf(&r, at.Key, keyEpoch)
		at.Key, at.KeyID = r.At, idAfter(&r, at.Key, at.KeyID)
	}
	for _, r := range p.Scopes {
		if r.At <= at.Scope {
			continue
		}
		inOrder := follows(&r, at.Scope, at.ScopeID)
		found.count(r, inOrder)
		if r.Bump { // each sequence has one
			found.Bumps++
		}
		f.followScope(r, at.Scope > 0 && inOrder)
		see(&r, inOrder)
		scopeEpoch = epochOf(&r, at.Scope, scopeEpoch)
		at.Scope, at.ScopeID = r.At, idAfter(&r, at.Scope, at.ScopeID)
	}
	if at.Epoch = 0; keyEpoch == scopeEpoch {
		at.Epoch = keyEpoch
	}
	if p.End.Epoch != 0 && !p.More {
		f.compare(&at, p.End, &found)
	}
	f.applied.Store(&at)
	return found
}

// compare checks the cursor against the end of the log, once an answer is complete. A process that
// has just started, or that missed the first record of the epoch, learns its epoch here. The tail
// may be ahead of the answer.
//
// Different ids at the same position mean that the process has followed another history. It then
// invalidates everything and keeps its ids: its next Sync shows them to the log, which then starts a new
// epoch for all processes.
func (f *Fences) compare(at *invalidate.Cursor, end invalidate.Cursor, found *Findings) {
	if at.Key.Epoch() != end.Key.Epoch() || at.Scope.Epoch() != end.Scope.Epoch() {
		return
	}
	if (at.Epoch != 0 && at.Epoch != end.Epoch) ||
		(at.Key == end.Key && at.KeyID != end.KeyID) || (at.Scope == end.Scope && at.ScopeID != end.ScopeID) {
		found.Gaps++
		f.storeAll(false, at.Scope)
		at.Epoch = 0
		return
	}
	at.Epoch = end.Epoch
}

// follows reports whether r directly follows the record with that position and id.
func follows(r *invalidate.Record, at invalidate.Position, id uint64) bool {
	switch {
	case at == 0: // the first record that the log retains
		return true
	case r.After != id:
		return false
	case r.Bump:
		return r.Prev == at
	}
	return r.At == at+1
}

// idAfter returns the id to show to the log once r has been applied after the record with that id.
// It is r's own id, unless r belongs to another history. Then it is the old id, which the log does
// not have. So the log starts an epoch, and the other processes learn of the other history.
func idAfter(r *invalidate.Record, at invalidate.Position, id uint64) uint64 {
	if !r.Bump && at > 0 && r.At == at+1 && r.After != id {
		return id
	}
	return r.ID
}

// epochOf returns the id of r's epoch, or 0 if it is unknown. The record before r was at a position
// of an epoch whose id is known.
func epochOf(r *invalidate.Record, before invalidate.Position, known uint64) uint64 {
	switch {
	case r.Bump:
		return r.ID
	case r.At.Epoch() != before.Epoch():
		return 0
	}
	return known
}

func (c *Findings) count(r invalidate.Record, contiguous bool) {
	c.Records++
	if !contiguous {
		c.Gaps++
	}
	if r.Damaged {
		c.Damaged++
	}
	if r.Time > 0 && (c.Oldest == 0 || r.Time < c.Oldest) {
		c.Oldest = r.Time
	}
}

// followKey applies a record of the key sequence. If it is unknown which keys were fenced, the
// process discards all its own entries, but of the frames only those of built values. The cells of the
// keys themselves were removed from the remote tier before the records were written. The cells of
// what was built from them were not.
func (f *Fences) followKey(r invalidate.Record, contiguous bool) {
	if !contiguous || r.Bump || r.Damaged {
		f.storeAll(false, 0) // no frame: entries can be fetched again
		f.mu.Lock()
		f.keyFloor = max(f.keyFloor, r.At)
		f.mu.Unlock()
	}
	for _, k := range r.Fences {
		f.Store(k, r.At)
	}
}

// followScope applies a record of the scope sequence. If it is unknown what was fenced before r,
// the process discards everything older, its own entries and frames of the remote tier. This includes the first
// record that a log retains.
func (f *Fences) followScope(r invalidate.Record, contiguous bool) {
	if !contiguous || r.Bump || r.Damaged {
		f.storeAll(false, r.At)
	}
	for _, s := range r.Fences {
		f.Store(s, r.At)
	}
}

// Confirm fences what this process appended if the records themselves have not come back yet. It
// does not move the cursor.
func (f *Fences) Confirm(a invalidate.Append, p invalidate.Page) {
	c := f.Cursor()
	if c.Key < p.Key {
		for _, k := range a.Keys {
			f.Store(k, p.Key)
		}
	}
	if c.Scope < p.Scope {
		for _, s := range a.Scopes {
			f.Store(s, p.Scope)
		}
	}
}
