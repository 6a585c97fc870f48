package logtest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/twofold-go/twofold/invalidate"
)

func logFirstSync(t *logTest) {
	first := t.reader()
	first.wantNew()
	if e := first.at.Key.Epoch(); e < 1 {
		t.Errorf("first epoch = %d, want at least 1", e)
	}
	first.wantNothing()
	t.reader().wantNew() // another handle finds the same epoch
	first.wantNothing()
}

// wantNew checks that the log is one epoch without a record, at the same position in both
// sequences.
func (r *reader) wantNew() {
	r.t.Helper()
	if len(r.keys) != 1 || len(r.scopes) != 1 || r.at.Key != r.at.Scope {
		r.t.Fatalf("the log has keys %+v and scopes %+v, want one bump in each, alike", r.keys, r.scopes)
	}
}

func logFirstAppend(t *logTest) {
	r := t.stranger()
	page := r.sync(bothAppend(7))
	if len(r.keys) != 2 || len(r.scopes) != 2 || page.Key.N() != 1 || page.Scope.N() != 1 {
		t.Fatalf("a first Sync that appends: %+v and %+v, at %s and %s; want a bump and number 1 in each",
			r.keys, r.scopes, spell(page.Key), spell(page.Scope))
	}
	r.wantLast(bothAppend(7))
}

func logFirstSyncs(t *logTest) {
	var readers []*reader
	for range 8 {
		readers = append(readers, t.stranger())
	}
	t.atOnce(readers, func(r *reader, _ int) error {
		_, err := r.trySync(invalidate.Append{})
		return err
	})
	t.reader().wantNew()
}

func logsApart(t *logTest) {
	r := t.reader()
	r.sync(bothAppend(1))
	other := (&logTest{T: t.T, open: t.another(t.T)}).reader()
	other.wantNew()
	other.sync(bothAppend(2))
	r.wantNothing()
}

// atOnce runs do once for each reader, all at the same time.
func (t *logTest) atOnce(readers []*reader, do func(r *reader, i int) error) {
	t.Helper()
	errs := make([]error, len(readers))
	var wg sync.WaitGroup
	for i, r := range readers {
		wg.Go(func() { errs[i] = do(r, i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func logDense(t *logTest) {
	a, b := t.reader(), t.reader()
	for i := range 10 {
		one, other := a, b
		if i%2 == 1 {
			one, other = b, a
		}
		page := one.sync(bothAppend(i))
		if page.Key.N() != uint32(i+1) || page.Scope.N() != uint32(i+1) {
			t.Fatalf("append %d is at %s and %s, want number %d", i+1, spell(page.Key), spell(page.Scope), i+1)
		}
		one.wantLast(bothAppend(i))
		if i%3 == 0 { // the other one may be behind when it appends
			other.sync(invalidate.Append{})
		}
	}
	b.sync(invalidate.Append{})
	a.sync(invalidate.Append{})
	a.wantSame(b)
}

func logConcurrent(t *logTest) {
	const handles, appends = 6, 50
	var readers []*reader
	for range handles {
		readers = append(readers, t.reader())
	}
	told := make([]map[invalidate.Position]int, handles) // the fence at each position, according to Sync
	t.atOnce(readers, func(r *reader, i int) error {
		told[i] = map[invalidate.Position]int{}
		for j := range appends {
			n := i*appends + j
			page, err := r.trySync(bothAppend(n))
			if err != nil {
				return err
			}
			told[i][page.Key] = n
			if page.Scope == 0 {
				return errors.New("no position of a scope")
			}
		}
		return nil
	})
	whole := t.reader()
	if len(whole.keys) != 1+handles*appends || len(whole.scopes) != 1+handles*appends {
		t.Fatalf("the log has %d keys and %d scopes, want a bump and %d", len(whole.keys), len(whole.scopes), handles*appends)
	}
	for i, r := range readers {
		r.sync(invalidate.Append{})
		r.wantSame(whole)
		if err := toldRight(whole.keys, told[i]); err != nil {
			t.Errorf("handle %d: %v", i, err)
		}
	}
}

// toldRight reports whether the records are at the positions that Sync returned for them.
func toldRight(records []invalidate.Record, told map[invalidate.Position]int) error {
	found := 0
	for _, rec := range records {
		n, mine := told[rec.At]
		if !mine {
			continue
		}
		found++
		if len(rec.Fences) != 1 || rec.Fences[0].Hash != uint64(n) {
			return fmt.Errorf("record %s is %+v, but Sync returned this position for number %d", spell(rec.At), rec.Fences, n)
		}
	}
	if found != len(told) {
		return fmt.Errorf("%d of the returned positions are in the log, want %d", found, len(told))
	}
	return nil
}
