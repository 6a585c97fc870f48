package logtest

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
)

// txTest is one subtest of [TestTransactional], and what was committed in it.
type txTest struct {
	*logTest

	db    Transactional
	cells *cells
	one   *reader // of the steps
	open  map[int]*tx

	mu        sync.Mutex // protects the fences
	appended  map[invalidate.Fence]bool
	committed map[invalidate.Fence]bool // of the appended ones, records must name these and no other
	commits   int
	known     map[*reader]int // commits when it last read
}

func newTxTest(t *testing.T, db Transactional) *txTest {
	t.Helper()
	open, c := db.Open(t), newCells()
	return &txTest{
		db: db, cells: c, open: map[int]*tx{}, known: map[*reader]int{},
		appended: map[invalidate.Fence]bool{}, committed: map[invalidate.Fence]bool{},
		logTest: &logTest{T: t, open: open, hooks: invalidate.Hooks{Tier: "logtest", Remove: c.remove}},
	}
}

// txStep is a step of one process. Transactions are numbered, and so are pairs of a key and a tag.
type txStep func(t *txTest)

// txSteps returns a case that takes the steps. At the end two more processes read the log: one that
// has read nothing since the start, and a new one.
func txSteps(all ...txStep) func(t *txTest) {
	return func(t *txTest) {
		other := t.reader()
		t.one = t.reader()
		for _, step := range all {
			step(t)
		}
		t.read(other, t.newReader())
	}
}

func begin(n int) txStep {
	return func(t *txTest) { t.open[n] = t.begin(t.one) }
}

func add(n, pair int) txStep { return func(t *txTest) { t.open[n].append(t.pair(pair)...) } }

func commit(n int) txStep { return func(t *txTest) { t.open[n].commit() } }

func rollback(n int) txStep { return func(t *txTest) { t.must(t.open[n].rollback()) } }

func write(pair int) txStep { return func(t *txTest) { t.write(t.one, t.pair(pair)...) } }

func read(t *txTest) { t.read(t.one) }

func prepare(n int) txStep {
	return func(t *txTest) {
		t.need(t.db.Prepare != nil, "Prepare")
		t.must(t.db.Prepare(t.Context(), t.open[n].Tx))
	}
}

// need skips the subtest when the log lacks a function.
func (t *txTest) need(there bool, name string) {
	t.Helper()
	if !there {
		t.Skipf("Transactional.%s is nil", name)
	}
}

// twoWriters skips the subtest when a second writer would wait for the first.
func (t *txTest) twoWriters() {
	t.Helper()
	if t.db.OneWriter {
		t.Skip("Transactional.OneWriter is set: two transactions do not write at a time")
	}
}

// begin begins a transaction. It is rolled back at the end of the subtest if it is still open.
func (t *txTest) begin(r *reader) *tx {
	t.Helper()
	x, err := t.tryBegin(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.rollback() })
	return x
}

func (t *txTest) tryBegin(r *reader) (*tx, error) {
	inner, err := t.db.Begin(t.Context(), r.log)
	return &tx{t: t, Tx: inner, appended: map[invalidate.Fence]bool{}}, err
}

// tx is a transaction, and what it has appended.
type tx struct {
	Tx

	t        *txTest
	keys     []invalidate.Scope
	appended map[invalidate.Fence]bool
	over     bool
}

// try appends, for use in goroutines.
func (x *tx) try(scopes ...invalidate.Scope) error {
	x.t.mu.Lock()
	for _, s := range scopes {
		f := invalidate.Fence{Scope: s}
		x.appended[f], x.t.appended[f] = true, true
		if s.Kind() == invalidate.KindKey {
			x.keys = append(x.keys, s)
		}
	}
	x.t.mu.Unlock()
	return x.Append(x.t.Context(), scopes...)
}

func (x *tx) tryCommit() error {
	x.over = true
	x.t.cells.committing(x.keys)
	if err := x.Commit(); err != nil {
		return err
	}
	x.t.mu.Lock()
	defer x.t.mu.Unlock()
	maps.Copy(x.t.committed, x.appended)
	x.t.commits++
	return nil
}

func (x *tx) rollback() error {
	if x.over {
		return nil
	}
	x.over = true
	return x.Rollback()
}

func (x *tx) append(scopes ...invalidate.Scope) {
	x.t.Helper()
	x.t.must(x.try(scopes...))
}

func (x *tx) commit() {
	x.t.Helper()
	x.t.must(x.tryCommit())
}

// write commits a transaction with the scopes.
func (t *txTest) write(r *reader, scopes ...invalidate.Scope) {
	t.Helper()
	x := t.begin(r)
	x.append(scopes...)
	x.commit()
}

func (t *txTest) must(err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read reads to the end of the log, which must have what was committed and nothing else.
func (t *txTest) read(readers ...*reader) {
	t.Helper()
	for _, r := range readers {
		before, commits := r.at, t.known[r]
		r.sync(invalidate.Append{})
		if commits == t.commits && before != r.at && before.Key != 0 {
			t.Fatalf("nothing was committed, and the log went on from %s, %s to %s, %s",
				spell(before.Key), spell(before.Scope), spell(r.at.Key), spell(r.at.Scope))
		}
		t.verify(r, t.committed)
	}
}

// verify checks what a reader has read: all that is wanted, nothing that was not committed, and the
// same as every other reader. The cells must have been removed.
func (t *txTest) verify(r *reader, want map[invalidate.Fence]bool) {
	t.Helper()
	t.known[r] = t.commits
	seen := map[invalidate.Fence]bool{}
	for _, rec := range slices.Concat(r.keys, r.scopes) {
		for _, f := range rec.Fences {
			if seen[f] = true; t.appended[f] && !t.committed[f] {
				t.Fatalf("%+v was not committed, and a record names it", f)
			}
		}
	}
	for f := range want {
		if !seen[f] {
			t.Fatalf("%+v was committed, and no record names it", f)
		}
	}
	t.must(errors.Join(t.cells.check(r), t.keys.learn(r.keys), t.scopes.learn(r.scopes)))
}

// pair returns a key and a tag that are unique for n.
func (t *txTest) pair(n int) []invalidate.Scope {
	return []invalidate.Scope{t.keyScope(n), tagScope(n)}
}
