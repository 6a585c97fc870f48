package logtest

import (
	"slices"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

func txCommit(t *txTest) {
	writer, other := t.reader(), t.reader()
	scopes := []invalidate.Scope{
		t.keyScope(1), t.keyScope(2), tagScope(1),
		invalidate.Prefix("t", "n:4"), invalidate.Tenant("u"), invalidate.All(),
	}
	x := t.begin(writer)
	x.append(scopes...)
	other.wantNothing()
	x.commit()
	t.sync(other)
	t.wantSeen(other, scopes...)
	late := t.reader()
	t.sync(late)
	t.wantSeen(late, scopes...)
	t.sync(writer)
	writer.wantSame(other)
	other.wantNothing()
}

func txRollback(t *txTest) {
	writer, other := t.reader(), t.reader()
	x := t.begin(writer)
	x.append(t.keyScope(1), tagScope(1))
	t.must(x.rollback())
	writer.wantNothing()
	other.wantNothing()
	t.write(writer, t.keyScope(2), tagScope(2))
	t.sync(other)
	t.wantSeen(other, t.keyScope(2), tagScope(2))
	t.wantUnseen(other, t.keyScope(1), tagScope(1))
}

func txSavepoint(t *txTest) {
	if t.db.Savepoint == nil {
		t.Skip("Transactional.Savepoint is nil")
	}
	r := t.reader()
	x := t.begin(r)
	x.append(t.keyScope(1), tagScope(1))
	back, err := t.db.Savepoint(t.Context(), x.Tx)
	t.must(err)
	x.append(t.keyScope(2), tagScope(2))
	t.must(back())
	x.append(t.keyScope(3), tagScope(3))
	x.commit()
	t.sync(r)
	t.wantSeen(r, t.keyScope(1), tagScope(1), t.keyScope(3), tagScope(3))
	t.wantUnseen(r, t.keyScope(2), tagScope(2))
}

func txPrepared(t *txTest) {
	if t.db.Prepare == nil {
		t.Skip("Transactional.Prepare is nil")
	}
	r, other := t.reader(), t.reader()
	kept, dropped := t.begin(r), t.begin(r)
	kept.append(t.keyScope(1), tagScope(1))
	dropped.append(t.keyScope(2), tagScope(2))
	t.must(t.db.Prepare(t.Context(), kept.Tx))
	t.must(t.db.Prepare(t.Context(), dropped.Tx))
	other.wantNothing()
	t.write(r, tagScope(3)) // prepared transactions block no other
	t.sync(other)
	t.wantSeen(other, tagScope(3))
	t.must(dropped.rollback())
	kept.commit()
	t.sync(other)
	t.wantSeen(other, t.keyScope(1), tagScope(1))
	t.wantUnseen(other, t.keyScope(2), tagScope(2))
}

func txBoth(t *txTest) {
	writer, other := t.reader(), t.reader()
	t.write(writer, t.keyScope(1), tagScope(1))
	other.sync(bothAppend(7))
	t.must(t.cells.check(other))
	t.wantSeen(other, t.keyScope(1), tagScope(1))
	t.sync(writer)
	for _, f := range slices.Concat(bothAppend(7).Keys, bothAppend(7).Scopes) {
		if !writer.has(f) {
			t.Errorf("a Sync that found a commit lost what it appended itself: %+v", f)
		}
	}
	writer.wantSame(other)
}

// The transaction needs more than one record, and more than one step that removes cells.
func txMany(t *txTest) {
	r := t.reader()
	var scopes []invalidate.Scope
	for i := range invalidate.MaxFences + 100 {
		scopes = append(scopes, t.keyScope(i), tagScope(i))
	}
	t.write(r, scopes...)
	t.sync(r)
	missing := len(scopes)
	for _, rec := range slices.Concat(r.keys, r.scopes) {
		missing -= len(rec.Fences)
	}
	if missing != 0 {
		t.Errorf("a transaction has %d scopes, and %d of them are missing in the log", len(scopes), missing)
	}
}

func txHold(t *txTest) {
	const hold = 90 * time.Second
	r := t.reader()
	t.write(r, t.keyScope(1), tagScope(1), invalidate.Hold(hold))
	t.write(r, t.keyScope(2), tagScope(2))
	t.sync(r)
	for n, want := range map[int]time.Duration{1: hold, 2: 0} {
		for _, s := range []invalidate.Scope{t.keyScope(n), tagScope(n)} {
			f := s.Fence()
			if f.Hold = want; !r.has(f) {
				t.Errorf("%v was appended with a hold of %v, and its record has another", s, want)
			}
		}
		if got := t.cells.holdOf(t.keyScope(n).Text()); got != want {
			t.Errorf("the cell of %v was removed with a hold of %v, want %v", t.keyScope(n), got, want)
		}
	}
}

// Strict would wait for a commit that has not happened yet.
func txRefused(t *txTest) {
	r := t.reader()
	for name, scopes := range map[string][]invalidate.Scope{
		"the zero Scope":       {tagScope(1), {}},
		"a tag without a name": {tagScope(1), invalidate.Tag("t", "")},
		"Strict":               {tagScope(1), invalidate.Strict},
	} {
		x := t.begin(r)
		if err := x.Append(t.Context(), scopes...); err == nil {
			t.Errorf("Append with %s = nil, want an error", name)
		}
		t.must(x.rollback())
	}
	x := t.begin(r)
	x.append() // of nothing
	x.commit()
	r.wantNothing()
}

func txTail(t *txTest) {
	writer, follower := t.reader(), t.reader()
	t.write(writer, t.keyScope(1), tagScope(1))
	for !follower.has(tagScope(1).Fence()) || !follower.has(t.keyScope(1).Fence()) {
		t.must(follower.tail())
	}
	t.must(t.cells.check(follower))
	t.sync(writer)
	writer.wantSame(follower)
}

// twoWriters skips the subtest when a second writer would wait for the first.
func (t *txTest) twoWriters() {
	t.Helper()
	if t.db.OneWriter {
		t.Skip("Transactional.OneWriter is set: two transactions do not write at a time")
	}
}

func txReverse(t *txTest) {
	t.twoWriters()
	r := t.reader()
	first, second := t.begin(r), t.begin(r)
	first.append(t.keyScope(1), tagScope(1))
	second.append(t.keyScope(2), tagScope(2))
	second.commit()
	t.sync(r)
	t.wantSeen(r, t.keyScope(2), tagScope(2))
	t.wantUnseen(r, t.keyScope(1), tagScope(1))
	first.commit()
	t.sync(r)
	t.wantSeen(r, t.keyScope(1), tagScope(1))
}

// A log may remember up to where it has numbered everything. It must not skip rows of
// transactions that began before that point, whenever they append and commit.
func txOld(t *txTest) {
	t.twoWriters()
	r, other := t.reader(), t.reader()
	early, late, idle := t.begin(r), t.begin(r), t.begin(r)
	early.append(t.keyScope(1))
	late.append(t.keyScope(2))
	for i := range 3 {
		t.write(r, t.keyScope(10+i), tagScope(10+i))
		t.sync(r)
		t.wantSeen(r, t.keyScope(10+i), tagScope(10+i))
	}
	late.append(tagScope(2))
	idle.append(t.keyScope(3))
	t.sync(other)
	t.wantUnseen(other, t.keyScope(1), t.keyScope(2), tagScope(2), t.keyScope(3))
	late.commit()
	t.sync(other)
	t.wantSeen(other, t.keyScope(2), tagScope(2))
	t.write(r, tagScope(20))
	t.sync(other)
	early.commit()
	idle.commit()
	t.sync(other)
	t.wantSeen(other, t.keyScope(1), t.keyScope(3))
}
