package tiertest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/twofold-go/twofold/tier"
)

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// departures records the reports of a tier for each entry.
type departures struct {
	mu   sync.Mutex
	seen map[*localEntry][]departure

	heard func() // called after each record, unless nil
}

type departure struct {
	reason tier.EvictReason
	cost   int64
}

// listen registers with the tier, or skips the test when the tier is not an EvictNotifier.
func listen(t *testing.T, l tier.Local) *departures {
	n, ok := unwrapLocal(l).(tier.EvictNotifier)
	if !ok {
		t.Skip("the tier is not a tier.EvictNotifier")
	}
	d := &departures{seen: map[*localEntry][]departure{}}
	n.OnEvict(func(e tier.Entry, cost int64, reason tier.EvictReason) {
		d.record(e.(*localEntry), departure{reason, cost})
		if d.heard != nil {
			d.heard()
		}
	})
	return d
}

func (d *departures) record(e *localEntry, how departure) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[e] = append(d.seen[e], how)
}

func (d *departures) of(e *localEntry) []departure {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]departure(nil), d.seen[e]...)
}

// localEvictOnce churns the tier from several goroutines. In the end each entry that entered is
// either resident or was reported exactly once.
func localEvictOnce(t *testing.T, l tier.Local) {
	d := listen(t, l)
	const workers, perWorker = 4, 3000
	all := make([][]*localEntry, workers)
	var wg sync.WaitGroup
	for g := range workers {
		wg.Go(func() {
			for i := range perWorker {
				e := &localEntry{hash: spread((g*perWorker + i) % 4000), seq: i}
				all[g] = append(all[g], e)
				cost := int64(1 << 10)
				if i%97 == 0 {
					cost = oversize
				}
				l.Set(e.hash, e, cost)
				if i%11 == 0 {
					l.Delete(spread(i % 4000))
				}
			}
		})
	}
	wg.Wait()
	eventually(t, func() (string, bool) {
		for _, entries := range all {
			for _, e := range entries {
				got, resident := l.Get(e.hash)
				resident = resident && got == any(e)
				n := len(d.of(e))
				if n > 1 {
					t.Fatalf("entry %v was reported %d times: %v", *e, n, d.of(e))
				}
				if resident == (n == 1) {
					return sprintf("entry %v: resident %v, reported %d times; want exactly one of the two", *e, resident, n), false
				}
			}
		}
		return "", true
	})
}

// localEvictPanics has a callback that panics from time to time. The panic may reach the caller.
// The tier must stay intact: each entry is resident or was reported once, Usage matches what the
// tier holds, and no lock stays locked.
func localEvictPanics(t *testing.T, l tier.Local) {
	d := listen(t, l)
	calls := 0
	d.heard = func() {
		if calls++; calls%41 == 0 {
			panic("OnEvict")
		}
	}
	try := func(f func()) {
		defer func() { _ = recover() }()
		f()
	}
	var all []*localEntry
	for i := range 8 * LocalBudget >> 10 {
		e := &localEntry{hash: spread(i % (4 * LocalBudget >> 10)), seq: i}
		all = append(all, e)
		cost := int64(1 << 10)
		if i%97 == 0 {
			cost = oversize
		}
		try(func() { l.Set(e.hash, e, cost) })
		l.Get(spread(i / 2)) // hit some entries again
		if i%11 == 0 {
			try(func() { l.Delete(spread(i / 2)) })
		}
	}
	d.heard = func() {}
	resident := int64(0)
	for _, e := range all {
		got, ok := l.Get(e.hash)
		ok = ok && got == any(e)
		if ok {
			resident++
		}
		if n := len(d.of(e)); ok == (n == 1) || n > 1 {
			t.Fatalf("entry %v: resident %v, reported %d times; want exactly one of the two", *e, ok, n)
		}
	}
	if m, ok := unwrapLocal(l).(tier.Meter); ok {
		if b, n := m.Usage(); n != resident || b != resident<<10 {
			t.Errorf("Usage() = %d bytes, %d entries; want %d entries of 1 KiB", b, n, resident)
		}
	}
}

func localEvictReason(t *testing.T, l tier.Local) {
	d := listen(t, l)
	h := spread(1)
	first, second := &localEntry{hash: h, seq: 1}, &localEntry{hash: h, seq: 2}
	huge, third := &localEntry{hash: h, seq: 3}, &localEntry{hash: h, seq: 4}
	l.Set(h, first, 10)
	l.Set(h, second, 20)
	l.Set(h, huge, oversize)
	l.Set(h, third, 30)
	l.Delete(h)

	wantDeparture(t, d, first, 10, tier.Replaced)
	wantDeparture(t, d, second, 20, tier.Replaced, tier.Deleted) // displaced by an entry that was refused
	wantDeparture(t, d, huge, oversize, tier.Rejected)
	wantDeparture(t, d, third, 30, tier.Deleted)

	var fill []*localEntry
	for i := range 4 * LocalBudget >> 10 {
		e := &localEntry{hash: spread(100 + i)}
		l.Set(e.hash, e, 1<<10)
		fill = append(fill, e)
	}
	eventually(t, func() (string, bool) {
		gone := 0
		for _, e := range fill {
			for _, dep := range d.of(e) {
				if dep.reason != tier.Evicted && dep.reason != tier.Rejected {
					t.Fatalf("an entry pushed out was reported as %v, want evicted or rejected", dep.reason)
				}
				gone++
			}
		}
		return sprintf("%d of %d entries reported after filling four budgets, want at least 3/4", gone, len(fill)), gone >= len(fill)*3/4
	})
}

func wantDeparture(t *testing.T, d *departures, e *localEntry, cost int64, reasons ...tier.EvictReason) {
	t.Helper()
	var got []departure
	eventually(t, func() (string, bool) {
		got = d.of(e)
		return sprintf("entry %d was never reported, want %v", e.seq, reasons), len(got) > 0
	})
	for _, r := range reasons {
		if len(got) == 1 && got[0] == (departure{r, cost}) {
			return
		}
	}
	t.Errorf("entry %d was reported as %v, want once, with cost %d and one of %v", e.seq, got, cost, reasons)
}
