package logtest

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/invalidate"
)

func txCommit(t *txTest) {
	writer, other := t.reader(), t.reader()
	x := t.begin(writer)
	x.append(
		t.keyScope(1), t.keyScope(2), tagScope(1), invalidate.Prefix("t", "n:4"), invalidate.Tenant("u"), invalidate.All(),
	)
	t.read(other)
	x.commit()
	t.read(other, t.newReader(), writer, other)
}

func txSavepoint(t *txTest) {
	t.need(t.db.Savepoint != nil, "Savepoint")
	r := t.reader()
	x := t.begin(r)
	x.append(t.pair(1)...)
	back, err := t.db.Savepoint(t.Context(), x.Tx)
	t.must(err)
	kept := maps.Clone(x.appended)
	x.append(t.pair(2)...)
	t.must(back())
	x.appended = kept
	x.append(t.pair(3)...)
	x.commit()
	t.read(r)
}

func txBoth(t *txTest) {
	writer, other := t.reader(), t.reader()
	t.write(writer, t.pair(1)...)
	for _, f := range slices.Concat(bothAppend(7).Keys, bothAppend(7).Scopes) {
		t.committed[f] = true
	}
	other.sync(bothAppend(7))
	t.verify(other, t.committed)
	t.read(writer)
}

// The transaction needs more than one record, and more than one step that removes cells.
func txMany(t *txTest) {
	r := t.reader()
	var scopes []invalidate.Scope
	for i := range invalidate.MaxFences + 100 {
		scopes = append(scopes, t.pair(i)...)
	}
	t.write(r, scopes...)
	t.read(r)
	missing := len(scopes)
	for _, rec := range slices.Concat(r.keys, r.scopes) {
		missing -= len(rec.Fences)
	}
	if missing != 0 {
		t.Errorf("a transaction has %d scopes, and %d of them are missing in the log", len(scopes), missing)
	}
}

func txRefused(t *txTest) {
	r := t.reader()
	for name, scopes := range map[string][]invalidate.Scope{
		"the zero Scope":       {tagScope(1), {}},
		"a tag without a name": {tagScope(1), invalidate.Tag("t", "")},
	} {
		x := t.begin(r)
		if err := x.Append(t.Context(), scopes...); err == nil {
			t.Errorf("Append with %s = nil, want an error", name)
		}
		t.must(x.rollback())
	}
	x := t.begin(r)
	x.append() // of nothing
	t.must(x.Commit())
	t.read(r)
}

func txTail(t *txTest) {
	writer, follower := t.reader(), t.reader()
	t.write(writer, t.pair(1)...)
	for follower.at.Key.N() == 0 || follower.at.Scope.N() == 0 {
		t.must(follower.tail())
	}
	t.verify(follower, t.committed)
	t.read(writer)
}

func txConcurrent(t *txTest) {
	const writers, transactions = 4, 25
	var readers []*reader
	for range writers + 3 {
		readers = append(readers, t.reader())
	}
	var writing sync.WaitGroup
	var over atomic.Bool
	writing.Add(writers)
	go func() {
		writing.Wait()
		over.Store(true)
	}()
	t.atOnce(readers, func(r *reader, i int) error {
		if i < writers {
			defer writing.Done()
			return t.writeMany(r, i*transactions, transactions)
		}
		for !over.Load() {
			if _, err := r.trySync(invalidate.Append{}); err != nil {
				return err
			}
			if err := t.cells.check(r); err != nil {
				return err
			}
		}
		return nil
	})
	t.read(readers...)
}

// writeMany runs n transactions. It rolls back every fifth and commits the others.
func (t *txTest) writeMany(r *reader, from, n int) error {
	for i := from; i < from+n; i++ {
		x, err := t.tryBegin(r)
		if err != nil {
			return err
		}
		err = x.try(t.pair(i)...)
		end := x.tryCommit
		if i%5 == 4 || err != nil {
			end = x.rollback
		}
		if err := errors.Join(err, end()); err != nil {
			return err
		}
	}
	return nil
}

// A damaged row may name anything, so its record invalidates everything older. Rows that were
// committed beside it or later still arrive.
func txDamaged(t *txTest) {
	t.need(t.db.Damage != nil, "Damage")
	writer, r := t.reader(), t.reader()
	t.write(writer, t.pair(1)...)
	x := t.begin(writer)
	t.must(t.db.Damage(t.Context(), x.Tx))
	x.commit()
	t.write(writer, t.pair(2)...)
	if n := t.damaged(r); n == 0 {
		t.Error("an unreadable row leaves no damaged record")
	}
	t.verify(r, t.committed)
	t.write(writer, t.pair(3)...)
	if n := t.damaged(r); n != 0 {
		t.Errorf("an unreadable row leaves %d more damaged records in the next Sync", n)
	}
	t.verify(r, t.committed)
}

// damaged reads to the end of the log, and returns the number of damaged records.
func (t *txTest) damaged(r *reader) (n int) {
	t.Helper()
	for {
		p, err := r.log.Sync(t.Context(), r.at, invalidate.Append{})
		t.must(err)
		for _, rec := range slices.Concat(p.Keys, p.Scopes) {
			if rec.Damaged {
				n++
			}
		}
		r.keys, r.scopes = append(r.keys, p.Keys...), append(r.scopes, p.Scopes...)
		r.at = invalidate.Cursor{
			Key: max(r.at.Key, last(p.Keys).At), Scope: max(r.at.Scope, last(p.Scopes).At),
		}
		if !p.More {
			return n
		}
	}
}

// A transaction that could not append must not commit. A process that cannot read the log must
// not trust what it has.
func txDropped(t *txTest) {
	t.need(t.db.Drop != nil, "Drop")
	r := t.reader()
	t.must(t.db.Drop(t.Context(), r.log))
	if _, err := r.log.Sync(t.Context(), r.at, invalidate.Append{}); err == nil {
		t.Error("Sync without tables = nil, want an error")
	}
	x := t.begin(r)
	if err := x.Append(t.Context(), tagScope(1)); err == nil {
		t.Error("Append without tables = nil, want an error")
	}
}
