package logtest

import (
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// Each sequence has its own position in the cursor: a caller may know keys up to one place and
// scopes up to another.
func logCursor(t *logTest) {
	r := t.reader()
	for i := range 5 {
		r.sync(bothAppend(i))
	}
	r.sync(keyAppend(5))
	for _, k := range append(r.keys, invalidate.Record{}) {
		for _, s := range append(r.scopes, invalidate.Record{}) {
			late := &reader{t: t, log: r.log, at: invalidate.Cursor{Key: k.At, Scope: s.At, KeyID: k.ID, ScopeID: s.ID}}
			late.sync(invalidate.Append{})
			if late.at != r.at || len(late.keys) != behind(r.keys, k.At) || len(late.scopes) != behind(r.scopes, s.At) {
				t.Fatalf("after %s and %s there are %d keys and %d scopes, want %d and %d", spell(k.At), spell(s.At),
					len(late.keys), len(late.scopes), behind(r.keys, k.At), behind(r.scopes, s.At))
			}
		}
	}
}

func behind(records []invalidate.Record, at invalidate.Position) int {
	n := 0
	for _, rec := range records {
		if rec.At > at {
			n++
		}
	}
	return n
}

// The sequences differ in length, so one has fewer pages than the other.
func logPaging(t *logTest) {
	const appends = 2100
	writer := t.reader()
	for i := range appends {
		a := bothAppend(i)
		if i%3 == 0 {
			a.Scopes = nil
		}
		writer.sync(a)
	}
	late := t.stranger()
	page := late.sync(bothAppend(appends)) // comes at the end of the pages
	if page.Key.N() != appends+1 {
		t.Errorf("append from the start of a long log is at %s, want number %d", spell(page.Key), appends+1)
	}
	late.wantLast(bothAppend(appends))
	writer.sync(invalidate.Append{})
	writer.wantSame(late)
	for i, rec := range late.keys[1:] {
		if rec.Fences[0].Hash != uint64(i) {
			t.Fatalf("key record %s is fence %d, want %d", spell(rec.At), rec.Fences[0].Hash, i)
		}
	}
}

// The log must not keep slices that it got, and must not share slices that it returned.
func logSlices(t *logTest) {
	r, a := t.reader(), bothAppend(1)
	r.sync(a)
	a.Keys[0].Hash, a.Scopes[0].Hash = 666, 666
	t.reader().wantLast(bothAppend(1))
	r.wantLast(bothAppend(1))

	scribble(r.keys)
	scribble(r.scopes)
	for _, r := range []*reader{t.reader(), {t: t, log: r.log}} {
		r.sync(invalidate.Append{})
		r.wantLast(bothAppend(1))
		scribble(r.keys)
		scribble(r.scopes)
	}
	next := t.reader()
	next.sync(bothAppend(2)) // into capacity that may be shared with a page
	next.wantLast(bothAppend(2))
}

// scribble overwrites everything that a page refers to.
func scribble(records []invalidate.Record) {
	for i := range records {
		for j := range records[i].Fences {
			records[i].Fences[j] = invalidate.Fence{Kind: invalidate.KindKey, Hash: 667}
		}
		records[i].Fences = append(records[i].Fences, invalidate.Fence{Hash: 668})
		records[i].At, records[i].Time = 669, 670
	}
}

// The log's clock may differ from ours by a day, but its unit may not.
func logClock(t *logTest) {
	r := t.reader()
	for i := range 3 {
		page := r.sync(bothAppend(i))
		if off := age(page.Now); page.Now != 0 && off.Abs() > 24*time.Hour {
			t.Errorf("Page.Now = %d, which is %v ago; want unix microseconds", page.Now, off)
		}
	}
	for _, rec := range append(r.keys, r.scopes...) {
		if off := age(rec.Time); rec.Time != 0 && off.Abs() > 24*time.Hour {
			t.Errorf("Record.Time = %d, which is %v ago; want unix microseconds", rec.Time, off)
		}
	}
}
