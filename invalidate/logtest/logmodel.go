package logtest

import (
	"fmt"
	"slices"

	"github.com/twofold-go/twofold/invalidate"
)

// sequenceModel is what a sequence must have: first the bump of the first epoch. Numbers and fences
// follow from what was appended. The first reader of a record decides about the rest, and all
// readers must agree.
type sequenceModel []invalidate.Record

// whole returns the records from the first one on.
func (m *sequenceModel) whole() sequenceModel {
	if len(*m) == 0 {
		m.bump()
	}
	return *m
}

func (m *sequenceModel) bump() { *m = append(*m, invalidate.Record{Bump: true}) }

func (m *sequenceModel) append(fences []invalidate.Fence) {
	if len(fences) > 0 {
		at := last(m.whole()).At + 1
		*m = append(*m, invalidate.Record{At: at, Fences: slices.Clone(fences)})
	}
}

// learn compares the records with those that other readers have. It does not look at what was appended.
func (m *sequenceModel) learn(got []invalidate.Record) error {
	for i, rec := range got {
		if i == len(*m) {
			*m = append(*m, rec)
		}
		if w := (*m)[i]; !same(rec, w) || !slices.Equal(rec.Fences, w.Fences) {
			return fmt.Errorf("two handles see different records:\n%+.400v\n%+.400v", rec, w)
		}
	}
	return nil
}

// compare compares what a reader has, from the record skip on.
func (m *sequenceModel) compare(got []invalidate.Record, skip int) error {
	want := m.whole()[skip:]
	if len(got) != len(want) {
		return fmt.Errorf("there are %d records %.400s, want %d", len(got), fmt.Sprintf("%+v", got), len(want))
	}
	for i, rec := range got {
		w := &want[i]
		if rec.At.N() != w.At.N() || rec.Bump != w.Bump || !slices.Equal(rec.Fences, w.Fences) {
			return fmt.Errorf("record %d is\n%+.400v\nwant\n%+.400v", i+skip, rec, *w)
		}
		if w.ID == 0 {
			w.At, w.ID, w.After, w.Prev, w.Time = rec.At, rec.ID, rec.After, rec.Prev, rec.Time
		} else if !same(rec, *w) {
			return fmt.Errorf("two handles see different records:\n%+.400v\n%+.400v", rec, *w)
		}
	}
	return nil
}

// same compares the places of two records. It ignores Time when one of them has none.
func same(a, b invalidate.Record) bool {
	return a.At == b.At && a.ID == b.ID && a.After == b.After && a.Bump == b.Bump && a.Prev == b.Prev &&
		(a.Time == b.Time || a.Time == 0 || b.Time == 0)
}

func last(records []invalidate.Record) invalidate.Record {
	if len(records) == 0 {
		return invalidate.Record{}
	}
	return records[len(records)-1]
}

// append syncs with a, and notes what the log must have then.
func (r *reader) append(a invalidate.Append) {
	r.t.Helper()
	r.t.appended(a)
	page := r.sync(a)
	r.wantAt(page.Key, r.t.keys, len(a.Keys) > 0)
	r.wantAt(page.Scope, r.t.scopes, len(a.Scopes) > 0)
}

// wantAt checks the number of a record that was appended.
func (r *reader) wantAt(at invalidate.Position, m sequenceModel, appended bool) {
	r.t.Helper()
	if want := last(m).At.N(); appended && at.N() != want {
		r.t.Fatalf("an append is at %s, want number %d", spell(at), want)
	}
}

// appended notes an append.
func (t *logTest) appended(a invalidate.Append) {
	t.keys.append(a.Keys)
	t.scopes.append(a.Scopes)
}

// bump starts an epoch, as a caller ahead does.
func (r *reader) bump() {
	r.t.Helper()
	r.syncAt(invalidate.Cursor{Key: r.at.Key + 1, Scope: r.at.Scope}, invalidate.Append{})
	r.t.bumped()
	r.read()
}

// bumped notes a new epoch.
func (t *logTest) bumped() {
	t.keys.bump()
	t.scopes.bump()
}

// read reads to the end of the log, which must have what was appended and nothing else.
func (r *reader) read() {
	r.t.Helper()
	r.sync(invalidate.Append{})
	r.wantAll()
}

// wantAll checks every record that the reader has.
func (r *reader) wantAll() {
	r.t.Helper()
	if err := r.t.keys.compare(r.keys, r.skipKeys); err != nil {
		r.t.Fatalf("keys: %v", err)
	}
	if err := r.t.scopes.compare(r.scopes, r.skipScopes); err != nil {
		r.t.Fatalf("scopes: %v", err)
	}
	ids := map[uint64]invalidate.Record{}
	for _, rec := range slices.Concat(r.keys, r.scopes) {
		if other, known := ids[rec.ID]; known && (!rec.Bump || !other.Bump || rec.At != other.At) {
			r.t.Fatalf("%+v and %+v have one id", other, rec)
		}
		ids[rec.ID] = rec
	}
}

// from returns a reader that starts at a cursor. r has read the whole log.
func (r *reader) from(at invalidate.Cursor) *reader {
	upTo := func(records []invalidate.Record, at invalidate.Position) (n int) {
		for n < len(records) && records[n].At <= at {
			n++
		}
		return n
	}
	return &reader{t: r.t, log: r.log, at: at, skipKeys: upTo(r.keys, at.Key), skipScopes: upTo(r.scopes, at.Scope)}
}

// appends returns a case in which two handles append by turns, each behind the other. After each
// append three compare the whole log: the handle, one that only tails, and a new one.
func appends(all ...invalidate.Append) func(t *logTest) {
	return func(t *logTest) {
		one, other, tailing := t.newReader(), t.newReader(), t.newReader()
		for _, a := range all {
			one.append(a)
			tailing.tailTo(one)
			for _, r := range []*reader{one, tailing, t.reader()} {
				r.wantAll()
			}
			one, other = other, one
		}
	}
}
