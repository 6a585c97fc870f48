package logtest

import (
	"fmt"

	"github.com/twofold-go/twofold/invalidate"
)

// logAhead tries cursors after the log's end. Only a log that has lost records sees such cursors.
func logAhead(t *logTest) {
	r := t.reader()
	r.sync(bothAppend(1))
	r.sync(keyAppend(2))
	moves := []struct {
		what string
		move func(p invalidate.Position) invalidate.Position
	}{
		{"by a number", func(p invalidate.Position) invalidate.Position { return p + 1 }},
		{"by many numbers", func(p invalidate.Position) invalidate.Position { return p + 5000 }},
		{"by an epoch", func(p invalidate.Position) invalidate.Position { return invalidate.At(p.Epoch()+1, 0) }},
		{"by an hour of epochs", func(p invalidate.Position) invalidate.Position { return p + invalidate.At(3600, 1) }},
	}
	for _, m := range moves {
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
	r.sync(invalidate.Append{})
	known := max(at.Key.Epoch(), at.Scope.Epoch())
	if err := bumped(r.keys[keys:], 2, known); err != nil {
		r.t.Fatalf("%s ahead: keys: %v", name, err)
	}
	if err := bumped(r.scopes[scopes:], 1, known); err != nil {
		r.t.Fatalf("%s ahead: scopes: %v", name, err)
	}
	if page.Key != r.at.Key || page.Key.N() != 1 || r.at.Scope.Epoch() != r.at.Key.Epoch() {
		r.t.Fatalf("%s ahead: the append is at %s of a log that ends with %s and %s, want number 1 of the new epoch",
			name, spell(page.Key), spell(r.at.Key), spell(r.at.Scope))
	}
	// The caller also gets the bump, even when it reads on from its cursor.
	if !startsWith(page.Keys, r.keys[keys:], at.Key) || !startsWith(page.Scopes, r.scopes[scopes:], at.Scope) {
		r.t.Fatalf("%s ahead: the caller gets %+v and %+v, other callers get different records", name, page.Keys, page.Scopes)
	}
	r.wantLast(keyAppend(9))
}

// bumped checks n records, the first of which starts an epoch above known.
func bumped(records []invalidate.Record, n int, known uint32) error {
	if len(records) != n || !records[0].Bump {
		return fmt.Errorf("%+v appended, want a bump and %d records in all", records, n)
	}
	if e := records[0].At.Epoch(); e <= known {
		return fmt.Errorf("bump into epoch %d, want one above the caller's %d", e, known)
	}
	return nil
}

// startsWith reports whether a page that was read from at shows the bump. A page from the zero
// cursor starts with everything older.
func startsWith(page, news []invalidate.Record, at invalidate.Position) bool {
	if at == 0 {
		return true
	}
	return len(page) > 0 && page[0].At == news[0].At && page[0].Bump
}

func logNewEpoch(t *logTest) {
	r, other := t.reader(), t.reader()
	seen := map[invalidate.Position]bool{}
	for i := range 3 {
		for j := range 3 {
			page := r.sync(bothAppend(j))
			if seen[page.Key] || seen[page.Scope] || page.Key.N() != uint32(j+1) {
				t.Fatalf("append %d of epoch %d is at %s and %s", j+1, i+1, spell(page.Key), spell(page.Scope))
			}
			seen[page.Key] = true
		}
		r.syncAt(invalidate.Cursor{Key: r.at.Key + 1, Scope: r.at.Scope}, invalidate.Append{})
		r.sync(invalidate.Append{})
	}
	other.sync(invalidate.Append{}) // read before the bumps, and may get them in one page
	other.wantSame(r)
	t.reader().wantSame(r)
}

// A log starts an epoch only for a reason, because each epoch costs every process all that it
// knows.
func logBehind(t *logTest) {
	r := t.reader()
	r.sync(bothAppend(1))
	before := r.at // of an epoch that ended long ago
	for range 3 {
		r.syncAt(invalidate.Cursor{Key: r.at.Key + 1}, invalidate.Append{})
		r.sync(bothAppend(1))
	}
	old := r.at
	r.sync(bothAppend(2))
	for _, at := range []invalidate.Cursor{
		{}, old, r.at, {Key: old.Key}, {Scope: old.Scope}, {Key: r.at.Key, Scope: old.Scope},
		before, {Key: before.Key, Scope: before.Scope}, {Key: before.Key + 5, Scope: before.Scope + 7},
	} {
		t.stranger().syncAt(at, invalidate.Append{})
		r.wantNothing()
	}
}

// logForeign tries cursors at positions that the log has, with ids that it does not have: ids of
// another history. The log must not take the caller's history for its own.
func logForeign(t *logTest) {
	r := t.reader()
	r.sync(bothAppend(1))
	middle := r.at
	r.sync(bothAppend(2))
	for _, tc := range []struct {
		what string
		at   func() invalidate.Cursor
	}{
		{"last key", func() invalidate.Cursor { c := r.at; c.KeyID ^= 1 << 40; return c }},
		{"last scope", func() invalidate.Cursor { c := r.at; c.ScopeID ^= 1 << 40; return c }},
		{"epoch", func() invalidate.Cursor { c := r.at; c.Epoch ^= 1 << 40; return c }},
		{"key in the middle", func() invalidate.Cursor { c := middle; c.KeyID ^= 1 << 40; return c }},
		{"scope in the middle", func() invalidate.Cursor { c := middle; c.ScopeID ^= 1 << 40; return c }},
	} {
		before := r.at
		t.stranger().syncAt(tc.at(), keyAppend(9))
		r.sync(invalidate.Append{})
		if r.at.Epoch == before.Epoch || r.at.Key.Epoch() <= before.Key.Epoch() || r.at.Scope.Epoch() != r.at.Key.Epoch() {
			t.Fatalf("a caller with another %s: the log goes on at %+v after %+v, want a new epoch", tc.what, r.at, before)
		}
		r.wantLast(keyAppend(9))
		r.sync(bothAppend(1))
		middle = r.at
		r.sync(bothAppend(2))
	}
	// Unknown ids are not compared.
	r.sync(invalidate.Append{})
	at := r.at
	at.KeyID, at.ScopeID, at.Epoch = 0, 0, 0
	t.stranger().syncAt(at, invalidate.Append{})
	r.wantNothing()
}

// logIDs looks for an id that two records share.
func logIDs(t *logTest) {
	r := t.reader()
	for i := range 50 {
		r.sync(bothAppend(i))
		if i%10 == 9 { // a new epoch
			r.syncAt(invalidate.Cursor{Key: r.at.Key + 1}, invalidate.Append{})
		}
	}
	r.sync(invalidate.Append{})
	seen := map[uint64]invalidate.Record{}
	for _, rec := range append(r.keys, r.scopes...) {
		if other, known := seen[rec.ID]; known && (!rec.Bump || !other.Bump || rec.At != other.At) {
			t.Fatalf("%+v and %+v have one id", other, rec)
		}
		seen[rec.ID] = rec
	}
}
