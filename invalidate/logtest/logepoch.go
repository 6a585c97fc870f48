package logtest

import (
	"slices"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// standing returns a case that appends from cursors. It gets them from the end of the log, a position
// before the end, and one of an epoch that ended long ago. Either each of them starts an epoch or none.
func standing(epoch bool, cursors func(end, middle, old invalidate.Cursor) []invalidate.Cursor) func(t *logTest) {
	return func(t *logTest) {
		r := t.reader()
		r.append(bothAppend(1))
		old := r.at
		r.bump()
		r.bump()
		r.append(tagAppend(1))
		for i := 0; ; i++ {
			r.append(bothAppend(1))
			middle := r.at
			r.append(bothAppend(2))
			all := cursors(r.at, middle, old)
			if i == len(all) {
				return
			}
			r.appendFrom(all[i], epoch)
		}
	}
}

// appendFrom lets another handle append at a cursor. r must find a bump in each sequence if that
// starts an epoch, and then the key.
func (r *reader) appendFrom(at invalidate.Cursor, epoch bool) {
	r.t.Helper()
	page := r.t.newReader().syncAt(at, keyAppend(9))
	if epoch {
		r.t.bumped()
	}
	r.t.appended(keyAppend(9))
	r.read()
	if page.Key != r.at.Key || epoch && r.at.Key.Epoch() <= max(at.Key.Epoch(), at.Scope.Epoch()) {
		r.t.Fatalf("at %+v: the append is at %s of a log that ends with %s", at, spell(page.Key), spell(r.at.Key))
	}
	// The caller also gets the bump, even when it reads on from its cursor.
	if !follows(page.Keys, r.keys, at.Key) || !follows(page.Scopes, r.scopes, at.Scope) {
		r.t.Fatalf("at %+v: the caller gets %+v and %+v, other callers get different records", at, page.Keys, page.Scopes)
	}
}

// follows reports whether a page starts with the first of all records after at.
func follows(page, all []invalidate.Record, at invalidate.Position) bool {
	first := slices.IndexFunc(all, func(rec invalidate.Record) bool { return rec.At > at })
	if first < 0 || len(page) == 0 {
		return first < 0 && len(page) == 0
	}
	return same(page[0], all[first])
}

// ahead are cursors after the log's end. Only a log that has lost records sees such cursors.
func ahead(end, _, _ invalidate.Cursor) (all []invalidate.Cursor) {
	for _, more := range []invalidate.Position{1, 5000, invalidate.At(1, 0), invalidate.At(3600, 1)} {
		k, s := end.Key+more, end.Scope+more
		all = append(all, invalidate.Cursor{Key: k, Scope: end.Scope}, invalidate.Cursor{Key: end.Key, Scope: s},
			invalidate.Cursor{Key: k, Scope: s}, invalidate.Cursor{Key: k})
	}
	next := invalidate.At(end.Key.Epoch()+1, 0)
	return append(all, invalidate.Cursor{Key: next, Scope: next})
}

// behind are cursors of callers that know less. A log starts an epoch only for a reason, because each
// epoch costs every process all that it knows.
func behind(end, middle, old invalidate.Cursor) []invalidate.Cursor {
	return []invalidate.Cursor{
		{}, middle, end, {Key: middle.Key}, {Scope: middle.Scope}, {Key: end.Key, Scope: middle.Scope},
		old, {Key: old.Key}, {Key: end.Key, Scope: old.Scope}, {Key: old.Key + 5, Scope: old.Scope + 7},
		{Key: end.Key, Scope: end.Scope}, {Key: old.Key, Scope: old.Scope}, // unknown ids are not compared
	}
}

// foreign are positions that the log has, with ids that it does not have: ids of another history. The
// log must not take the caller's history for its own.
func foreign(end, middle, _ invalidate.Cursor) []invalidate.Cursor {
	all := []invalidate.Cursor{end, end, end, middle, middle}
	for _, id := range []*uint64{&all[0].KeyID, &all[1].ScopeID, &all[2].Epoch, &all[3].KeyID, &all[4].ScopeID} {
		*id ^= 1 << 40
	}
	return all
}

func logNewEpoch(t *logTest) {
	r, other := t.reader(), t.reader()
	for range 5 {
		for j := range 10 {
			r.append(bothAppend(j))
		}
		r.bump()
	}
	other.read() // read before the bumps, and may get them in one page
	t.reader().wantAll()
}

// The log must not keep slices that it got, and must not share slices that it returned.
func logSlices(t *logTest) {
	r, a := t.reader(), bothAppend(1)
	r.append(a)
	a.Keys[0], a.Scopes[0] = keyAppend(666).Keys[0], tagAppend(666).Scopes[0]
	t.reader().wantAll()
	r.wantAll()
	r.scribble()
	for _, r := range []*reader{t.reader(), {t: t, log: r.log}} {
		r.read()
		r.scribble()
	}
	next := t.reader()
	next.append(bothAppend(2)) // into capacity that may be shared with a page
	next.wantAll()
}

// scribble overwrites everything that the reader's pages refer to.
func (r *reader) scribble() {
	for _, records := range [][]invalidate.Record{r.keys, r.scopes} {
		for i := range records {
			for j := range records[i].Fences {
				records[i].Fences[j] = keyAppend(667).Keys[0]
			}
			records[i].Fences = append(records[i].Fences, tagAppend(668).Scopes[0])
			records[i].At, records[i].Time = 669, 670
		}
	}
}

// The log's clock may differ from ours by a day, but its unit may not.
func logClock(t *logTest) {
	r := t.reader()
	check := func(what string, micros int64) {
		if off := time.Since(time.UnixMicro(micros)); micros != 0 && off.Abs() > 24*time.Hour {
			t.Errorf("%s = %d, which is %v ago; want unix microseconds", what, micros, off)
		}
	}
	for i := range 3 {
		check("Page.Now", r.sync(bothAppend(i)).Now)
	}
	for _, rec := range append(r.keys, r.scopes...) {
		check("Record.Time", rec.Time)
	}
}
