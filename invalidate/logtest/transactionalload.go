package logtest

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/invalidate"
)

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
			if err := t.follow(r); err != nil {
				return err
			}
		}
		return nil
	})
	for _, r := range readers {
		t.sync(r)
		r.wantSame(readers[0])
	}
	for n := range writers * transactions {
		if n%5 == 4 {
			t.wantUnseen(readers[0], t.keyScope(n), tagScope(n))
		} else {
			t.wantSeen(readers[0], t.keyScope(n), tagScope(n))
		}
	}
}

// writeMany runs n transactions. It rolls back every fifth and commits the others.
func (t *txTest) writeMany(r *reader, from, n int) error {
	for i := from; i < from+n; i++ {
		x, err := t.tryBegin(r)
		if err != nil {
			return err
		}
		if i%5 == 4 {
			err = errors.Join(x.Append(t.Context(), t.keyScope(i), tagScope(i)), x.rollback())
		} else {
			err = x.try(t.keyScope(i), tagScope(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *txTest) follow(r *reader) error {
	if _, err := r.trySync(invalidate.Append{}); err != nil {
		return err
	}
	return t.cells.check(r)
}

// A damaged row may name anything, so its record invalidates everything older. Rows that were
// committed beside it or later still arrive.
func txDamaged(t *txTest) {
	if t.db.Damage == nil {
		t.Skip("Transactional.Damage is nil")
	}
	writer, r := t.reader(), t.reader()
	t.write(writer, t.keyScope(1), tagScope(1))
	x := t.begin(writer)
	t.must(t.db.Damage(t.Context(), x.Tx))
	x.commit()
	t.write(writer, t.keyScope(2), tagScope(2))
	if n := t.damaged(r); n == 0 {
		t.Error("an unreadable row leaves no damaged record")
	}
	t.wantSeen(r, t.keyScope(1), tagScope(1), t.keyScope(2), tagScope(2))
	t.write(writer, t.keyScope(3), tagScope(3))
	if n := t.damaged(r); n != 0 {
		t.Errorf("an unreadable row leaves %d more damaged records in the next Sync", n)
	}
	t.wantSeen(r, t.keyScope(3), tagScope(3))
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
	if t.db.Drop == nil {
		t.Skip("Transactional.Drop is nil")
	}
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
