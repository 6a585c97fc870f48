package logtest

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/twofold-go/twofold/internal/testkit/fault"
	"github.com/twofold-go/twofold/invalidate"
)

// A Sync reads the committed rows, removes the cells of their keys, and then numbers the rows.
// The removal is the gap between reading and numbering. The next subtests let other things happen in
// that gap.

// inGap runs a Sync of the reader, and runs do in its gap.
func (t *txTest) inGap(r *reader, do func()) {
	t.Helper()
	want := maps.Clone(t.committed)
	ran := once(&t.cells.before, do)
	r.sync(invalidate.Append{})
	if !ran() {
		t.Fatal("Sync of a committed key removed no cell")
	}
	t.verify(r, want)
}

func txGap(t *txTest) {
	writer, a, b := t.reader(), t.reader(), t.reader()
	t.write(writer, t.pair(1)...)
	t.inGap(a, func() { t.write(writer, t.pair(2)...) })
	t.read(b)
}

// The transaction that commits in the gap is older than the one whose row was read.
func txOldGap(t *txTest) {
	t.twoWriters()
	writer, a, b := t.reader(), t.reader(), t.reader()
	old := t.begin(writer)
	old.append(t.pair(2)...)
	t.write(writer, t.pair(1)...)
	t.inGap(a, old.commit)
	t.read(b)
}

// A second process reads the log while the first removes cells. It must not see the record yet:
// if the first process died now, the cells would stay.
func txOrder(t *txTest) {
	writer, a, b := t.reader(), t.reader(), t.reader()
	t.write(writer, t.pair(1)...)
	t.inGap(a, func() { t.read(b) })
}

// Between all steps another process claims a cell, and fills it then or after a later step. At
// the end no cell may have the value from before the commit.
func txClaims(t *txTest) {
	const begun, appended, committed, read, removed, numbered, steps = 0, 1, 2, 3, 4, 5, 6
	r := t.reader()
	text := func(claimed, filled int) string { return t.keyScope(claimed*steps + filled).Text() }
	// step claims and fills the cells that are due now, of the given keys or of all.
	step := func(now int, keys []string) {
		for claimed := range now + 1 {
			for filled := now; filled < steps; filled++ {
				k := text(claimed, filled)
				if keys != nil && !slices.Contains(keys, k) {
					continue
				}
				if claimed == now {
					t.cells.claim(k)
				}
				if filled == now {
					t.cells.fill(k)
				}
			}
		}
	}
	t.cells.before.Set(func(keys []string) { step(read, keys) })
	t.cells.after.Set(func(keys []string) { step(removed, keys) })

	x := t.begin(r)
	step(begun, nil)
	for n := range steps * steps {
		x.append(t.keyScope(n))
	}
	step(appended, nil)
	x.commit()
	step(committed, nil)
	t.read(r)
	step(numbered, nil)
	names := []string{"Begin", "Append", "Commit", "the rows were read", "the cells were removed", "Sync"}
	for claimed := range steps {
		for filled := claimed; filled < steps; filled++ {
			if t.cells.old(text(claimed, filled)) {
				t.Errorf("a cell that was claimed after %s and filled after %s keeps its old value", names[claimed], names[filled])
			}
		}
	}
}

// The process dies before it has removed the cells, and then after it has removed them.
func txCrash(t *txTest) {
	writer, b := t.reader(), t.reader()
	for n, at := range []*fault.Setting[gap]{&t.cells.before, &t.cells.after} {
		t.write(writer, t.pair(n)...)
		dying := t.newReader()
		ctx, cancel := context.WithCancel(t.Context())
		ran := once(at, cancel)
		_, err := dying.log.Sync(ctx, dying.at, invalidate.Append{})
		cancel()
		if !ran() {
			t.Fatalf("Sync of a committed key removed no cell, and returned %v", err)
		}
		t.read(b)
	}
}

// While cells cannot be removed, a Sync may fail. If it does not fail, its records must cover the
// cells.
func txCovered(t *txTest) {
	writer, a, b := t.reader(), t.reader(), t.reader()
	t.cells.fail.Set(errors.New("the remote tier is down"))
	t.write(writer, t.pair(1)...)
	if _, err := a.trySync(invalidate.Append{}); err == nil {
		t.verify(a, t.committed)
	}
	t.cells.fail.Set(nil)
	t.read(b)
}
