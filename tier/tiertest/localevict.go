package tiertest

import (
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/tier"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// listen registers with the tier, or skips the test when the tier is not an EvictNotifier.
func listen(t *testing.T, l tier.Local) *localtest.Ledger {
	t.Helper()
	led := localtest.Listen(l)
	if led == nil {
		t.Skip("the tier is not a tier.EvictNotifier")
	}
	return led
}

func localModel(maxCost int64) func(t *testing.T, l tier.Local) {
	return func(t *testing.T, l tier.Local) {
		t.Helper()
		localtest.Model(t, l, maxCost, late)
	}
}

func localCompete(t *testing.T, l tier.Local) {
	localtest.Compete(t, l, LocalBudget, late)
}

// localEvictPanics has a callback that panics from time to time. The panic may reach the caller.
// The tier must stay intact: each entry is resident or was reported once, Usage matches what the
// tier holds, and no lock stays locked.
func localEvictPanics(t *testing.T, l tier.Local) {
	d := listen(t, l)
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
		e := &localtest.Entry{Hash: hashOf(i % (4 * LocalBudget >> 10)), Seq: i}
		all = append(all, e)
		cost := int64(1 << 10)
		if i%97 == 0 {
			cost = oversize
		}
		try(func() { l.Set(e.Hash, e, cost) })
		l.Get(hashOf(i / 2)) // hit some entries again
		if i%11 == 0 {
			try(func() { l.Delete(hashOf(i / 2)) })
		}
	}
	d.Heard = func() {}
	resident := d.Settle(t, l, 0, all)
	if m, ok := l.(tier.Meter); ok {
		if b, n := m.Usage(); n != resident || b != resident<<10 {
			t.Errorf("Usage() = %d bytes, %d entries; want %d entries of 1 KiB", b, n, resident)
		}
	}
}

func localEvictReason(t *testing.T, l tier.Local) {
	d := listen(t, l)
	h := hashOf(1)
	first, second := &localtest.Entry{Hash: h, Seq: 1}, &localtest.Entry{Hash: h, Seq: 2}
	huge, third := &localtest.Entry{Hash: h, Seq: 3}, &localtest.Entry{Hash: h, Seq: 4}
	l.Set(h, first, 10)
	l.Set(h, second, 20)
	l.Set(h, huge, oversize)
	l.Set(h, third, 30)
	l.Delete(h)

	wantDeparture(t, d, first, 10, tier.Replaced)
	wantDeparture(t, d, second, 20, tier.Replaced, tier.Deleted) // displaced by an entry that was refused
	wantDeparture(t, d, huge, oversize, tier.Rejected)
	wantDeparture(t, d, third, 30, tier.Deleted)

	var fill []*localtest.Entry
	for i := range 4 * LocalBudget >> 10 {
		e := &localtest.Entry{Hash: hashOf(100 + i)}
		l.Set(e.Hash, e, 1<<10)
		fill = append(fill, e)
	}
	eventually(t, func() (string, bool) {
		gone := 0
		for _, e := range fill {
			for _, dep := range d.Of(e) {
				if dep.Reason != tier.Evicted && dep.Reason != tier.Rejected {
					t.Fatalf("an entry pushed out was reported as %v, want evicted or rejected", dep.Reason)
				}
				gone++
			}
		}
		return sprintf("%d of %d entries reported after filling four budgets, want at least 3/4", gone, len(fill)), gone >= len(fill)*3/4
	})
}

func wantDeparture(t *testing.T, d *localtest.Ledger, e *localtest.Entry, cost int64, reasons ...tier.EvictReason) {
	t.Helper()
	var got []localtest.Departure
	eventually(t, func() (string, bool) {
		got = d.Of(e)
		return sprintf("entry %d was never reported, want %v", e.Seq, reasons), len(got) > 0
	})
	for _, r := range reasons {
		if len(got) == 1 && got[0] == (localtest.Departure{Reason: r, Cost: cost}) {
			return
		}
	}
	t.Errorf("entry %d was reported as %v, want once, with cost %d and one of %v", e.Seq, got, cost, reasons)
}
