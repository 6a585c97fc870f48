package tiertest

import (
	"fmt"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/internal/suitetest"
	"github.com/twofold-go/twofold/tier"
)

// listen registers with the tier, or skips the test when the tier is not an EvictNotifier.
func (t *localTest) listen() *localtest.Ledger {
	t.Helper()
	suitetest.Need[tier.EvictNotifier](t, t.l)
	return localtest.Listen(t.l)
}

// localEvictPanics has a callback that panics from time to time. The panic may reach the caller.
// The tier must stay intact: each entry is resident or was reported once, Usage matches what the
// tier holds, and no lock stays locked.
func localEvictPanics(t *localTest) {
	d := t.listen()
	calls := 0
	d.Heard = func() {
		if calls++; calls%41 == 0 {
			panic("OnEvict")
		}
	}
	try := func(f func()) {
		defer func() { _ = recover() }()
		f()
	}
	var all []*localtest.Entry
	for i := range 8 * LocalBudget >> 10 {
		e := &localtest.Entry{Hash: hashOf(i % (4 * LocalBudget >> 10)), Seq: i} // known, although its Set may panic
		all = append(all, e)
		cost := int64(1 << 10)
		if i%97 == 0 {
			cost = oversize
		}
		try(func() { t.l.Set(e.Hash, e, cost) })
		t.l.Get(hashOf(i / 2)) // hit some entries again
		if i%11 == 0 {
			try(func() { t.l.Delete(hashOf(i / 2)) })
		}
	}
	d.Heard = func() {}
	resident := d.Settle(t.T, t.l, 0, all)
	if m, ok := t.l.(tier.Meter); ok {
		if b, n := m.Usage(); n != resident || b != resident<<10 {
			t.Errorf("Usage() = %d bytes, %d entries; want %d entries of 1 KiB", b, n, resident)
		}
	}
}

func localEvictReason(t *localTest) {
	d := t.listen()
	first, _ := t.set(1, 1, 10)
	second, _ := t.set(1, 2, 20)
	huge, _ := t.set(1, 3, oversize)
	third, _ := t.set(1, 4, 30)
	t.l.Delete(third.Hash)

	t.wantDeparture(d, first, 10, tier.Replaced)
	t.wantDeparture(d, second, 20, tier.Replaced, tier.Deleted) // displaced by an entry that was refused
	t.wantDeparture(d, huge, oversize, tier.Rejected)
	t.wantDeparture(d, third, 30, tier.Deleted)

	var fill []*localtest.Entry
	for i := range 4 * LocalBudget >> 10 {
		e, _ := t.set(100+i, 0, 1<<10)
		fill = append(fill, e)
	}
	t.eventually(func() (string, bool) {
		gone := 0
		for _, e := range fill {
			for _, dep := range d.Of(e) {
				if dep.Reason != tier.Evicted && dep.Reason != tier.Rejected {
					t.Fatalf("an entry pushed out was reported as %v, want evicted or rejected", dep.Reason)
				}
				gone++
			}
		}
		return fmt.Sprintf("%d of %d entries reported after filling four budgets, want at least 3/4", gone, len(fill)), gone >= len(fill)*3/4
	})
}

func (t *localTest) wantDeparture(d *localtest.Ledger, e *localtest.Entry, cost int64, reasons ...tier.EvictReason) {
	t.Helper()
	var got []localtest.Departure
	t.eventually(func() (string, bool) {
		got = d.Of(e)
		return fmt.Sprintf("entry %d was never reported, want %v", e.Seq, reasons), len(got) > 0
	})
	for _, r := range reasons {
		if len(got) == 1 && got[0] == (localtest.Departure{Reason: r, Cost: cost}) {
			return
		}
	}
	t.Errorf("entry %d was reported as %v, want once, with cost %d and one of %v", e.Seq, got, cost, reasons)
}
