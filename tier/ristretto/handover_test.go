package ristretto_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/internal/testkit/localtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// The tests in this file check the order rules of handover.go, by number.

// settled returns a tier in which the entries 0..n-1 are in the main part.
func settled(t *testing.T, n int) *ristretto.Tier {
	l := open(t, 1<<20)
	for i := range n {
		l.Set(hashOf(i), i, 100)
	}
	l.SpillAll()
	l.Drain()
	for i := range n {
		if e, ok := l.InMain(hashOf(i)); !ok || e != i {
			t.Fatalf("InMain(%d) = %v, %v; want it there", i, e, ok)
		}
	}
	return l
}

func wantGet(t *testing.T, l *ristretto.Tier, hash uint64, want any) {
	t.Helper()
	if e, ok := l.Get(hash); !ok || e != want {
		t.Errorf("Get = %v, %v; want %v", e, ok, want)
	}
}

func wantMiss(t *testing.T, l *ristretto.Tier, hash uint64) {
	t.Helper()
	if e, ok := l.Get(hash); ok {
		t.Errorf("Get = %v, want a miss", e)
	}
}

// TestVisibleInEveryPlace checks the first half of rule 1: the table finds the entry while it is
// in the front, in the queue, with the drainer and in the main part.
func TestVisibleInEveryPlace(t *testing.T) {
	l := open(t, 1<<20)
	h := hashOf(1)
	l.Set(h, "v", 100)
	wantGet(t, l, h, "v")
	l.SpillAll()
	wantGet(t, l, h, "v")
	l.AtHandover(func() { wantGet(t, l, h, "v") })
	l.Drain()
	wantGet(t, l, h, "v")
}

// TestNewerWinsInEveryPlace checks the second half of rule 1. Wherever the older entry is
// at a Set or Delete, it never comes back, and ristretto forgets it.
func TestNewerWinsInEveryPlace(t *testing.T) {
	h := hashOf(7)
	for _, place := range []string{"front", "queue", "handover", "main"} {
		for _, act := range []string{"set", "delete", "set twice", "delete, set", "set, delete", "set, spill"} {
			t.Run(fmt.Sprintf("%s while in %s", act, place), func(t *testing.T) {
				l := open(t, 1<<20)
				got := localtest.Record(l)
				l.Set(h, "old", 100)
				want := actIn(l, place, act, h)
				check := func() {
					t.Helper()
					if want == nil {
						wantMiss(t, l, h)
					} else {
						wantGet(t, l, h, want)
					}
				}
				check()
				for range 3 {
					l.SpillAll()
					check()
					l.Drain()
					check()
				}
				if e, _ := l.InMain(h); e != want {
					t.Errorf("ristretto holds %v, want %v", e, want)
				}
				config.CheckAccounts(t, l)
				if len(*got) == 0 || (*got)[0].Entry != "old" {
					t.Errorf("reported %v, want the old entry first", *got)
				}
			})
		}
	}
}

// actIn moves the entry under h to its place and acts on it there. It returns the entry that Get
// must return from then on.
func actIn(l *ristretto.Tier, place, act string, h uint64) (want any) {
	do := sync.OnceFunc(func() { want = actOn(l, act, h) })
	if place == "handover" {
		l.AtHandover(do)
	}
	if place != "front" {
		l.SpillAll()
	}
	if place == "main" || place == "handover" {
		l.Drain()
	}
	do()
	return want
}

func actOn(l *ristretto.Tier, act string, h uint64) any {
	switch act {
	case "set":
		l.Set(h, "new", 100)
	case "delete":
		l.Delete(h)
		return nil
	case "set twice":
		l.Set(h, "mid", 100)
		l.Set(h, "new", 50)
	case "delete, set":
		l.Delete(h)
		l.Set(h, "new", 100)
	case "set, delete":
		l.Set(h, "mid", 100)
		l.Delete(h)
		return nil
	case "set, spill": // the newer one is queued before the drainer settles the older
		l.Set(h, "new", 100)
		l.SpillAll()
	}
	return "new"
}

// TestForgetsBeforeOffers checks rule 2. One batch forgets the old node of a hash and offers the
// new one. ristretto ends with the new node at its own cost.
func TestForgetsBeforeOffers(t *testing.T) {
	const n = 50
	l := settled(t, n)
	for i := range n {
		l.Set(hashOf(i), -i-1, 200)
	}
	l.SpillAll()
	l.Drain()
	for i := range n {
		if e, ok := l.InMain(hashOf(i)); !ok || e != -i-1 {
			t.Errorf("InMain(%d) = %v, %v; want the newer entry", i, e, ok)
		}
	}
	config.CheckAccounts(t, l)
}

// TestVerdictOnTheGone checks rule 4. A Set and a Delete come after ristretto's refusals and
// before the drainer acts on them. Each entry is reported once, with the reason of the first
// call.
func TestVerdictOnTheGone(t *testing.T) {
	const maxBytes = 64 << 10
	l := open(t, maxBytes)
	reasons := map[any][]tier.EvictReason{}
	l.Open(tier.Hooks{Removed: func(e any, _ int64, r tier.EvictReason) { reasons[e] = append(reasons[e], r) }})
	const n = 2000
	var seq atomic.Int64 // makes entries distinct
	l.AtHandover(func() {
		for i := range n {
			if _, ok := l.Get(hashOf(i)); !ok {
				continue
			}
			switch i % 5 {
			case 0:
				l.Delete(hashOf(i))
			case 1: // a Set must not wait for the drain that runs this
				if total, _ := l.Charged(); total < maxBytes {
					l.Set(hashOf(i), fmt.Sprint("new ", seq.Add(1)), 100)
				}
			}
		}
	})
	for i := range n {
		l.Set(hashOf(i), i, 100)
	}
	for e, rs := range reasons {
		if len(rs) != 1 {
			t.Errorf("entry %v was reported as %v, want once", e, rs)
		}
	}
	for i := range n {
		got, resident := l.Get(hashOf(i))
		if resident = resident && got == i; resident == (len(reasons[i]) == 1) {
			t.Errorf("entry %d: resident %v, reported %v; want exactly one", i, resident, reasons[i])
		}
	}
	config.CheckAccounts(t, l)
}

// TestHitEntriesComeBack: an entry that ristretto drops returns if it was hit since it left the
// front. At most half of a batch returns; the others are reported.
func TestHitEntriesComeBack(t *testing.T) {
	l := open(t, 64<<10)
	got := localtest.Record(l)
	const n = 150
	for i := range n {
		l.Set(hashOf(i), i, 100)
	}
	l.SpillAll()
	for i := range n {
		l.Get(hashOf(i))
	}
	before := l.Stats().Bytes
	for i := range n {
		l.Set(hashOf(n+i), n+i, 100)
	}
	kept := 0
	for i := range n {
		if _, ok := l.Get(hashOf(i)); ok {
			kept++
		}
	}
	if kept == 0 || len(*got) == 0 {
		t.Errorf("%d of %d hit entries kept, %d reported; want some of each (%d bytes before)", kept, n, len(*got), before)
	}
	if entries := l.Stats().Entries; entries+int64(len(*got)) != 2*n {
		t.Errorf("%d entries held and %d reported, want %d together", entries, len(*got), 2*n)
	}
	want := map[tier.EvictReason]bool{tier.Evicted: true, tier.Rejected: true}
	for _, e := range *got {
		if !want[e.Reason] {
			t.Errorf("entry %v left as %v, want evicted or rejected", e.Entry, e.Reason)
		}
	}
	config.CheckAccounts(t, l)
}

// TestOverwritesLeaveNothingBehind checks rule 5 for a leak: after overwrites at every stage,
// ristretto has one node for the hash.
func TestOverwritesLeaveNothingBehind(t *testing.T) {
	l := open(t, 1<<20)
	got := localtest.Record(l)
	h := hashOf(1)
	const rounds = 300
	for i := range rounds {
		l.Set(h, i, 100)
		if i%3 != 0 {
			l.SpillAll()
		}
		if i%5 != 0 {
			l.Drain()
		}
	}
	l.Delete(h)
	l.Drain()
	if e, ok := l.InMain(h); ok {
		t.Errorf("ristretto holds %v, want nothing", e)
	}
	var want []localtest.Event
	for i := range rounds {
		want = append(want, localtest.Event{Entry: i, Cost: 100, Reason: tier.Replaced})
	}
	want[rounds-1].Reason = tier.Deleted
	if d := cmp.Diff(want, *got); d != "" {
		t.Errorf("reported (-want +got):\n%s", d)
	}
	if total, _ := l.Charged(); total != 0 {
		t.Errorf("charged %d bytes when empty, want 0", total)
	}
}
