package tiertest

import (
	"runtime"
	"testing"
	"weak"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
)

// LocalBudget is the capacity in bytes that a tier under [TestLocal] must have. The suite only
// uses costs within it.
const LocalBudget = 1 << 20

// oversize is more than a tier of LocalBudget bytes may accept.
const oversize = LocalBudget * 2

// TestLocal checks a local tier against every rule of [tier.Local], and of the optional
// interfaces [tier.EvictNotifier], [tier.Expirer], [tier.Meter] and [tier.Ranger] that it implements. Each
// subtest calls newLocal, which returns an empty tier of [LocalBudget] bytes. The suite closes
// the tier. The tests of an Expirer call newLocal in a testing/synctest bubble.
func TestLocal(t *testing.T, newLocal func(t *testing.T) tier.Local) {
	t.Helper()
	for _, tc := range []struct {
		name   string
		test   func(t *testing.T, l tier.Local)
		closes bool
	}{
		{"an empty tier misses", localEmpty, false},
		{"set is visible at once", localVisible, false},
		{"set replaces", localReplace, false},
		{"an older entry never comes back", localNeverUndone, false},
		{"delete removes", localDelete, false},
		{"a deleted entry never comes back", localDeleteSticks, false},
		{"an oversize entry is refused and the older one removed", localOversize, false},
		{"usage stays within the budget", localBudget, false},
		{"usage follows what is held", localUsage, false},
		{"range shows what is held", localRange, false},
		{"range while others write", localRangeInUse, false},
		{"random operations", localModel(LocalBudget / 320), false},
		{"random operations on large entries", localModel(LocalBudget / 5), false},
		{"goroutines compete for a few hashes", localCompete, false},
		{"evictions carry the reason", localEvictReason, false},
		{"a callback that panics harms nothing", localEvictPanics, false},
		{"entries end", localEnds(newLocal), false},
		{"get allocates nothing", localAllocs, false},
		{"concurrent use", localConcurrent, false},
		{"close while in use", localCloseInUse, true},
		{"closed tier misses", localClosed, true},
		{"close releases the entries", localCloseReleases, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLocal(t)
			if !tc.closes {
				t.Cleanup(func() { closeLocal(t, l) })
			}
			tc.test(t, l)
		})
	}
}

// closeLocal closes the tier. No test does so twice: the contract does not say that Close may be
// repeated.
func closeLocal(t *testing.T, l tier.Local) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
}

func localEmpty(t *testing.T, l tier.Local) {
	for _, h := range []uint64{0, 1, 1<<64 - 1} {
		if e, ok := l.Get(h); ok {
			t.Errorf("Get(%#x) of an empty tier = %v, true; want a miss", h, e)
		}
		l.Delete(h) // deleting nothing is allowed
	}
}

func localVisible(t *testing.T, l tier.Local) {
	// Costs of 8 bytes keep the sum well below any share of the budget.
	for i := range 5000 {
		e := &localtest.Entry{Hash: hashOf(i), Seq: i}
		if !l.Set(e.Hash, e, 8) {
			t.Fatalf("Set(%#x, cost 8) = false, want true", e.Hash)
		}
		wantEntry(t, l, e)
	}
	for _, h := range []uint64{0, 1<<64 - 1} {
		e := &localtest.Entry{Hash: h}
		l.Set(h, e, 8)
		wantEntry(t, l, e)
	}
}

func localReplace(t *testing.T, l tier.Local) {
	for i := range 1000 {
		for seq := range 3 {
			e := &localtest.Entry{Hash: hashOf(i), Seq: seq}
			l.Set(e.Hash, e, int64(8*(seq+1)))
			wantEntry(t, l, e)
		}
	}
}

func localDelete(t *testing.T, l tier.Local) {
	for i := range 1000 {
		h := hashOf(i)
		l.Set(h, &localtest.Entry{Hash: h}, 8)
		l.Delete(h)
		if e, ok := l.Get(h); ok {
			t.Fatalf("Get(%#x) after Delete = %v, true; want a miss", h, e)
		}
	}
}

func localOversize(t *testing.T, l tier.Local) {
	h := hashOf(1)
	if l.Set(h, &localtest.Entry{Hash: h}, oversize) {
		t.Errorf("Set of cost %d = true, want false", oversize)
	}
	if e, ok := l.Get(h); ok {
		t.Errorf("Get of a refused entry = %v, true; want a miss", e)
	}
	l.Set(h, &localtest.Entry{Hash: h, Seq: 1}, 8)
	if l.Set(h, &localtest.Entry{Hash: h, Seq: 2}, oversize) {
		t.Errorf("Set of cost %d over an older entry = true, want false", oversize)
	}
	if e, ok := l.Get(h); ok {
		t.Errorf("Get after a refused Set = %v, true; want a miss: the older entry must be gone", e)
	}
}

func localAllocs(t *testing.T, l tier.Local) {
	if race.Enabled {
		t.Skip("the race detector makes sync.Pool allocate")
	}
	localtest.Allocs(t, l)
}

func localClosed(t *testing.T, l tier.Local) {
	h := hashOf(1)
	l.Set(h, &localtest.Entry{Hash: h}, 8)
	closeLocal(t, l)
	if e, ok := l.Get(h); ok {
		t.Errorf("Get after Close = %v, true; want a miss", e)
	}
	l.Set(h, &localtest.Entry{Hash: h}, 8) // must not panic
	l.Delete(h)
	if e, ok := l.Get(h); ok {
		t.Errorf("Get after Set on a closed tier = %v, true; want a miss", e)
	}
}

// localCloseReleases lets only the tier hold an entry.
func localCloseReleases(t *testing.T, l tier.Local) {
	e := &localtest.Entry{Hash: hashOf(1)}
	there := weak.Make(e)
	l.Set(e.Hash, e, 8)
	closeLocal(t, l)
	eventually(t, func() (string, bool) {
		runtime.GC()
		return "a closed tier still holds an entry", there.Value() == nil
	})
	runtime.KeepAlive(l)
}

func wantEntry(t *testing.T, l tier.Local, want *localtest.Entry) {
	t.Helper()
	got, ok := l.Get(want.Hash)
	if !ok || got != any(want) {
		t.Fatalf("Get(%#x) = %v, %v; want the entry just set (%v), true", want.Hash, got, ok, *want)
	}
}

func hashOf(i int) uint64 { return trace.Hash(uint64(i)) }
