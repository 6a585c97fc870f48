package tiertest

import (
	"runtime"
	"testing"
	"weak"

	"github.com/twofold-go/twofold/internal/localtest"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/internal/suitetest"
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
	suitetest.Run(t, localTests, func(t *testing.T) *localTest {
		lt := &localTest{T: t, l: newLocal(t), another: newLocal}
		t.Cleanup(lt.close)
		return lt
	})
}

var localTests = []suitetest.Case[*localTest]{
	{"an empty tier misses", localEmpty},
	{"set is visible at once", localVisible},
	{"set replaces", localReplace},
	{"an older entry never comes back", localNeverUndone},
	{"delete removes", localDelete},
	{"a deleted entry never comes back", localDeleteSticks},
	{"an oversize entry is refused and the older one removed", localOversize},
	{"usage stays within the budget", localBudget},
	{"usage follows what is held", localUsage},
	{"range shows what is held", localRange},
	{"range while others write", localRangeInUse},
	{"random operations", func(t *localTest) { localtest.Model(t.T, t.l, LocalBudget/320, late) }},
	{"random operations on large entries", func(t *localTest) { localtest.Model(t.T, t.l, LocalBudget/5, late) }},
	{"goroutines compete for a few hashes", func(t *localTest) { localtest.Compete(t.T, t.l, LocalBudget, late) }},
	{"evictions carry the reason", localEvictReason},
	{"a callback that panics harms nothing", localEvictPanics},
	{"entries end", localEnds},
	{"get allocates nothing", localAllocs},
	{"concurrent use", localConcurrent},
	{"close while in use", localCloseInUse},
	{"closed tier misses", localClosed},
	{"close releases the entries", localCloseReleases},
}

// localTest is one subtest: the tier, and helpers that fail the test.
type localTest struct {
	*testing.T
	l       tier.Local
	another func(t *testing.T) tier.Local // makes one more tier
	closed  bool
}

// close closes the tier, once: the contract does not say that Close may be repeated.
func (t *localTest) close() {
	t.Helper()
	if t.closed {
		return
	}
	t.closed = true
	if err := t.l.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
}

// set sets a new entry under the hash of i.
func (t *localTest) set(i, seq int, cost int64) (e *localtest.Entry, ok bool) {
	e = &localtest.Entry{Hash: hashOf(i), Seq: seq}
	return e, t.l.Set(e.Hash, e, cost)
}

func (t *localTest) wantHit(want *localtest.Entry) {
	t.Helper()
	if got, ok := t.l.Get(want.Hash); !ok || got != any(want) {
		t.Fatalf("Get(%#x) = %v, %v; want the entry just set (%v), true", want.Hash, got, ok, *want)
	}
}

func (t *localTest) wantMiss(hash uint64, when string) {
	t.Helper()
	if e, ok := t.l.Get(hash); ok {
		t.Fatalf("Get(%#x) %s = %v, true; want a miss", hash, when, e)
	}
}

func localEmpty(t *localTest) {
	for _, h := range []uint64{0, 1, 1<<64 - 1} {
		t.wantMiss(h, "of an empty tier")
		t.l.Delete(h) // deleting nothing is allowed
	}
}

func localVisible(t *localTest) {
	// Costs of 8 bytes keep the sum well below any share of the budget.
	for i := range 5000 {
		e, ok := t.set(i, i, 8)
		if !ok {
			t.Fatalf("Set(%#x, cost 8) = false, want true", e.Hash)
		}
		t.wantHit(e)
	}
	for _, h := range []uint64{0, 1<<64 - 1} {
		e := &localtest.Entry{Hash: h}
		t.l.Set(h, e, 8)
		t.wantHit(e)
	}
}

func localReplace(t *localTest) {
	for i := range 1000 {
		for seq := range 3 {
			e, _ := t.set(i, seq, int64(8*(seq+1)))
			t.wantHit(e)
		}
	}
}

func localDelete(t *localTest) {
	for i := range 1000 {
		e, _ := t.set(i, 0, 8)
		t.l.Delete(e.Hash)
		t.wantMiss(e.Hash, "after Delete")
	}
}

func localOversize(t *localTest) {
	for seq, when := range []string{"of a refused entry", "after a refused Set over an older entry, which must be gone,"} {
		e, ok := t.set(1, 2*seq, oversize)
		if ok {
			t.Errorf("Set of cost %d = true, want false", oversize)
		}
		t.wantMiss(e.Hash, when)
		t.set(1, 2*seq+1, 8)
	}
}

func localAllocs(t *localTest) {
	if race.Enabled {
		t.Skip("the race detector makes sync.Pool allocate")
	}
	localtest.Allocs(t.T, t.l)
}

func localClosed(t *localTest) {
	e, _ := t.set(1, 0, 8)
	t.close()
	t.wantMiss(e.Hash, "after Close")
	t.set(1, 0, 8) // must not panic
	t.l.Delete(hashOf(2))
	t.wantMiss(e.Hash, "after Set on a closed tier")
}

// localCloseReleases lets only the tier hold an entry.
func localCloseReleases(t *localTest) {
	e, _ := t.set(1, 0, 8)
	there := weak.Make(e)
	t.close()
	t.eventually(func() (string, bool) {
		runtime.GC()
		return "a closed tier still holds an entry", there.Value() == nil
	})
	runtime.KeepAlive(t.l)
}

func hashOf(i int) uint64 { return trace.Hash(uint64(i)) }
