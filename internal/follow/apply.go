package follow

import "github.com/twofold-go/twofold/invalidate"

// findings is what applying a page turned up.
type findings struct {
	records, gaps, bumps, damaged int
	oldest                        int64 // Record.Time of the oldest record applied; 0: unknown or none
}

// cursor returns the positions up to which the log is applied without a gap.
func (f *Fences) cursor() invalidate.Cursor {
	if c := f.applied.Load(); c != nil {
		return *c
	}
	return invalidate.Cursor{}
}

// follow applies the records of a page that are not applied yet. Redis does not
// tell a reader that records were trimmed away, or lost in a failover: it just
// skips them. A sequence is dense, and each record names the one before it. So a
// hole shows, and so does a record of another history; then whatever the missing
// records may have covered is given up. The caller sees to it that there is one
// follow at a time.
//
// The cursor moves when all fences of the page are stored. Each record is shown to see, once
// its fences are; followed says whether nothing is missing before it.
func (f *Fences) follow(p invalidate.Page, see func(r *invalidate.Record, followed bool)) (found findings) {
	at := f.cursor()
	keyEpoch, scopeEpoch := at.Epoch, at.Epoch
	for _, r := range p.Keys {
		if r.At <= at.Key {
			continue
		}
		inOrder := follows(&r, at.Key, at.KeyID)
		found.count(r, inOrder)
		f.followKey(r, inOrder)
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
		if r.Bump { // there is one in each sequence
			found.bumps++
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

// compare holds the cursor against the end of the log in a complete answer. A process
// that began, or that missed the first record of the epoch, learns here in which epoch
// it is. The tail may have been faster than the answer and know more.
//
// Other ids at the same place mean that the process knows another history. It gives up
// everything, and keeps its ids: its next Sync shows them to the log, which then starts
// an epoch for everybody.
func (f *Fences) compare(at *invalidate.Cursor, end invalidate.Cursor, found *findings) {
	if at.Key.Epoch() != end.Key.Epoch() || at.Scope.Epoch() != end.Scope.Epoch() {
		return
	}
	if (at.Epoch != 0 && at.Epoch != end.Epoch) ||
		(at.Key == end.Key && at.KeyID != end.KeyID) || (at.Scope == end.Scope && at.ScopeID != end.ScopeID) {
		found.gaps++
		f.store(invalidate.All().Fence(), at.Scope)
		at.Epoch = 0
		return
	}
	at.Epoch = end.Epoch
}

// follows reports whether nothing lies between the record at a position, which has
// that id, and r.
func follows(r *invalidate.Record, at invalidate.Position, id uint64) bool {
	switch {
	case at == 0: // the first that is retained
		return true
	case r.After != id:
		return false
	case r.Bump:
		return r.Prev == at
	}
	return r.At == at+1
}

// idAfter returns the id to show to the log when r has been applied behind the record
// with that id: its own, unless r belongs to another history than that record. Then the
// log must be shown the id that it does not have, or nobody else would learn of it.
func idAfter(r *invalidate.Record, at invalidate.Position, id uint64) uint64 {
	if !r.Bump && at > 0 && r.At == at+1 && r.After != id {
		return id
	}
	return r.ID
}

// epochOf returns the id of the epoch that r is in, 0 when it is not known: the record
// before it was at a position of an epoch with the id known.
func epochOf(r *invalidate.Record, before invalidate.Position, known uint64) uint64 {
	switch {
	case r.Bump:
		return r.ID
	case r.At.Epoch() != before.Epoch():
		return 0
	}
	return known
}

func (c *findings) count(r invalidate.Record, contiguous bool) {
	c.records++
	if !contiguous {
		c.gaps++
	}
	if r.Damaged {
		c.damaged++
	}
	if r.Time > 0 && (c.oldest == 0 || r.Time < c.oldest) {
		c.oldest = r.Time
	}
}

// followKey applies a record of the key sequence. When it is not known which
// keys were fenced, this process gives up its own entries; the cells of those
// keys were removed from the remote tier before the records were written.
func (f *Fences) followKey(r invalidate.Record, contiguous bool) {
	if !contiguous || r.Bump || r.Damaged {
		f.flushHere()
	}
	for _, k := range r.Fences {
		f.store(k, r.At)
	}
}

// followScope applies a record of the scope sequence. When it is not known what
// was fenced before it, everything older is given up, here and in the remote
// tier. That is so at the first record a log retains, too.
func (f *Fences) followScope(r invalidate.Record, contiguous bool) {
	if !contiguous || r.Bump || r.Damaged {
		f.store(invalidate.All().Fence(), r.At)
	}
	for _, s := range r.Fences {
		f.store(s, r.At)
	}
}

// confirm makes sure that what this process appended is fenced here, when the
// records themselves have not come back yet. It does not move the cursor.
func (f *Fences) confirm(a invalidate.Append, p invalidate.Page) {
	c := f.cursor()
	if c.Key < p.Key {
		for _, k := range a.Keys {
			f.store(k, p.Key)
		}
	}
	if c.Scope < p.Scope {
		for _, s := range a.Scopes {
			f.store(s, p.Scope)
		}
	}
}
