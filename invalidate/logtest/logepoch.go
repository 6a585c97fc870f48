package logtest

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// logAhead tries cursors after the log's end. Only a log that has lost records sees such cursors.
func logAhead(t *logTest) {
	r := t.reader()
	r.append(bothAppend(1))
	r.append(keyAppend(2))
	for _, m := range []struct {
		what string
		move func(p invalidate.Position) invalidate.Position
	}{
		{"by a number", func(p invalidate.Position) invalidate.Position { return p + 1 }},
		{"by many numbers", func(p invalidate.Position) invalidate.Position { return p + 5000 }},
		{"by an epoch", func(p invalidate.Position) invalidate.Position { return invalidate.At(p.Epoch()+1, 0) }},
		{"by an hour of epochs", func(p invalidate.Position) invalidate.Position { return p + invalidate.At(3600, 1) }},
	} {
		r.tryAhead("key "+m.what, invalidate.Cursor{Key: m.move(r.at.Key), Scope: r.at.Scope})
		r.tryAhead("scope "+m.what, invalidate.Cursor{Key: r.at.Key, Scope: m.move(r.at.Scope)})
		r.tryAhead("both "+m.what, invalidate.Cursor{Key: m.move(r.at.Key), Scope: m.move(r.at.Scope)})
		r.tryAhead("key alone "+m.what, invalidate.Cursor{Key: m.move(r.at.Key)})
	}
}

// tryAhead syncs at a cursor ahead of the log and appends a key. r knows the log up to its end.
// It must find one bump in each sequence, and then the key.
func (r *reader) tryAhead(name string, at invalidate.Cursor) {
	r.t.Helper()
	keys, scopes := len(r.keys), len(r.scopes)
	page := r.syncAt(at, keyAppend(9))
	r.newEpoch(keyAppend(9))
	if known := max(at.Key.Epoch(), at.Scope.Epoch()); page.Key != r.at.Key || r.at.Key.Epoch() <= known {
		r.t.Fatalf("%s ahead: the append is at %s of a log that ends with %s, want number 1 of an epoch above %d",
			name, spell(page.Key), spell(r.at.Key), known)
	}
	// The caller also gets the bump, even when it reads on from its cursor.
	if !startsWith(page.Keys, r.keys[keys:], at.Key) || !startsWith(page.Scopes, r.scopes[scopes:], at.Scope) {
		r.t.Fatalf("%s ahead: the caller gets %+v and %+v, other callers get different records", name, page.Keys, page.Scopes)
	}
}

// newEpoch checks that another caller has started an epoch and appended to it.
func (r *reader) newEpoch(a invalidate.Append) {
	r.t.Helper()
	r.t.bumped()
	r.t.appended(r.log, a)
	r.read()
}

// startsWith reports whether a page that was read from at shows the bump. A page from the zero
// cursor starts with everything older.
func startsWith(page, news []invalidate.Record, at invalidate.Position) bool {
	return at == 0 || len(page) > 0 && page[0].At == news[0].At && page[0].Bump
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

// A log starts an epoch only for a reason, because each epoch costs every process all that it
// knows.
func logBehind(t *logTest) {
	r := t.reader()
	r.append(bothAppend(1))
	before := r.at // of an epoch that ended long ago
	for range 3 {
		r.bump()
		r.append(bothAppend(1))
	}
	old := r.at
	r.append(bothAppend(2))
	for _, at := range []invalidate.Cursor{
		{}, old, r.at, {Key: old.Key}, {Scope: old.Scope}, {Key: r.at.Key, Scope: old.Scope},
		before, {Key: before.Key, Scope: before.Scope}, {Key: before.Key + 5, Scope: before.Scope + 7},
	} {
		t.stranger().syncAt(at, invalidate.Append{})
		r.read()
	}
}

// logForeign tries cursors at positions that the log has, with ids that it does not have: ids of
// another history. The log must not take the caller's history for its own.
func logForeign(t *logTest) {
	r := t.reader()
	for _, change := range []func(end, middle invalidate.Cursor) invalidate.Cursor{
		func(end, _ invalidate.Cursor) invalidate.Cursor { end.KeyID ^= 1 << 40; return end },
		func(end, _ invalidate.Cursor) invalidate.Cursor { end.ScopeID ^= 1 << 40; return end },
		func(end, _ invalidate.Cursor) invalidate.Cursor { end.Epoch ^= 1 << 40; return end },
		func(_, middle invalidate.Cursor) invalidate.Cursor { middle.KeyID ^= 1 << 40; return middle },
		func(_, middle invalidate.Cursor) invalidate.Cursor { middle.ScopeID ^= 1 << 40; return middle },
	} {
		r.append(bothAppend(1))
		middle := r.at
		r.append(bothAppend(2))
		t.stranger().syncAt(change(r.at, middle), keyAppend(9))
		r.newEpoch(keyAppend(9))
	}
	// Unknown ids are not compared.
	t.stranger().syncAt(invalidate.Cursor{Key: r.at.Key, Scope: r.at.Scope}, invalidate.Append{})
	r.read()
}

// The log must not keep slices that it got, and must not share slices that it returned.
func logSlices(t *logTest) {
	r, a := t.reader(), bothAppend(1)
	r.append(a)
	a.Keys[0].Hash, a.Scopes[0].Hash = 666, 666
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
				records[i].Fences[j] = invalidate.Fence{Kind: invalidate.KindKey, Hash: 667}
			}
			records[i].Fences = append(records[i].Fences, invalidate.Fence{Hash: 668})
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
