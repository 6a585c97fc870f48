package invalidate

// findings is what applying a page turned up.
type findings struct {
	records, gaps, bumps, damaged int
	oldest                        int64 // Record.Time of the oldest record applied; 0: unknown or none
}

// cursor returns the positions up to which the log is applied without a gap.
func (f *Fences) cursor() Cursor {
	return Cursor{Key: Position(f.keyPos.Load()), Scope: Position(f.scopePos.Load())}
}

// follow applies the records of a page that are not applied yet. Redis does not
// tell a reader that records were trimmed away, or lost in a failover: it just
// skips them. Since a sequence is dense, a hole shows, and then whatever the
// missing records may have covered is given up. The caller sees to it that
// there is one follow at a time.
func (f *Fences) follow(p Page) (found findings) {
	for _, r := range p.Keys {
		if at := f.cursor().Key; r.At > at {
			found.count(r, follows(r, at))
			f.followKey(r, follows(r, at))
			f.keyPos.Store(uint64(r.At)) // after its fences
		}
	}
	for _, r := range p.Scopes {
		if at := f.cursor().Scope; r.At > at {
			found.count(r, follows(r, at))
			if r.Bump { // there is one in each sequence
				found.bumps++
			}
			f.followScope(r, at > 0 && follows(r, at))
			f.scopePos.Store(uint64(r.At))
		}
	}
	return found
}

// follows reports whether nothing lies between a position and a record.
func follows(r Record, at Position) bool {
	switch {
	case at == 0: // the first that is retained
		return true
	case r.Bump:
		return r.Prev == at
	}
	return r.At == at+1
}

func (c *findings) count(r Record, contiguous bool) {
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
func (f *Fences) followKey(r Record, contiguous bool) {
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
func (f *Fences) followScope(r Record, contiguous bool) {
	if !contiguous || r.Bump || r.Damaged {
		f.store(All().Fence(), r.At)
	}
	for _, s := range r.Fences {
		f.store(s, r.At)
	}
}

// confirm makes sure that what this process appended is fenced here, when the
// records themselves have not come back yet. It does not move the cursor.
func (f *Fences) confirm(a Append, p Page) {
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
