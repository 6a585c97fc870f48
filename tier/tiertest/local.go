package tiertest

import (
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/localtest"
	"github.com/twofold-go/twofold/internal/testkit/suitetest"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier"
)

// LocalBudget is the capacity in bytes that a tier under [TestLocal] must have. The suite only
// uses costs within it.
const LocalBudget = 1 << 20

// oversize is more than a tier of LocalBudget bytes may accept.
const oversize = LocalBudget * 2

// TestLocal checks a local tier against every rule of [tier.Local]. Each subtest calls newLocal, which
// returns an empty tier of [LocalBudget] bytes. The suite opens and closes the tier. The tests of
// entries that end call newLocal in a testing/synctest bubble.
func TestLocal(t *testing.T, newLocal func(t *testing.T) tier.Local) {
	t.Helper()
	suitetest.Run(t, localTests, func(t *testing.T) *localTest {
		lt := &localTest{T: t, l: newLocal(t), another: newLocal}
		t.Cleanup(lt.close)
		return lt
	})
}

var localTests = []suitetest.Case[*localTest]{
	{"an empty tier misses", plays(func(p *localtest.Play) {
		for _, h := range []uint64{0, 1, 1<<64 - 1} {
			p.Delete(h) // deleting nothing is allowed
		}
	})},
	{"set is visible at once", plays(func(p *localtest.Play) {
		// Costs of 8 bytes keep the sum well below any share of the budget.
		for i := range 5000 {
			p.Set(hashOf(i), 8)
		}
		p.Set(0, 8)
		p.Set(1<<64-1, 8)
	})},
	{"set replaces", plays(func(p *localtest.Play) {
		for i := range 3000 {
			p.Set(hashOf(i/3), int64(8*(i%3+1)))
		}
	})},
	{"delete removes", plays(func(p *localtest.Play) {
		for i := range 1000 {
			p.Set(hashOf(i), 8)
			p.Delete(hashOf(i))
		}
	})},
	{"an oversize entry is refused and the older one removed", plays(func(p *localtest.Play) {
		for _, cost := range []int64{oversize, 10, 20, oversize, 30} {
			p.Set(1, cost)
		}
	})},
	{"stats follow what is held", plays(func(p *localtest.Play) {
		for i := range 10 {
			p.Set(hashOf(i), 100)
		}
		p.Settle()
		p.Set(hashOf(0), 300)
		p.Settle()
		p.Delete(hashOf(0))
		p.Settle()
		p.Set(hashOf(1), oversize)
	})},
	{"stats stay within the budget", plays(func(p *localtest.Play) {
		p.Full = true
		for i := range 8 * LocalBudget >> 10 {
			p.Set(hashOf(i), 1<<10)
		}
	})},
	{"range while others write", localRangeInUse},
	{"random operations", func(t *localTest) { localtest.Model(t.T, t.l, LocalBudget/320, late) }},
	{"random operations on large entries", func(t *localTest) { localtest.Model(t.T, t.l, LocalBudget/5, late) }},
	{"goroutines compete for a few hashes", func(t *localTest) { localtest.Compete(t.T, t.l, LocalBudget, late) }},
	{"a callback that panics harms nothing", localEvictPanics},
	{"entries end", localEnds},
	{"get allocates nothing", localAllocs},
	{"concurrent use", localConcurrent},
	{"a deleted entry does not come back", localDeletes},
	{"close reports what is there", localClosed},
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

// plays returns a case that makes calls on a tier of which it knows what it must hold.
func plays(calls func(p *localtest.Play)) func(t *localTest) {
	return func(t *localTest) {
		localtest.Play{Tier: t.l, MaxBytes: LocalBudget, Largest: LocalBudget, Late: late}.Run(t.T, calls)
	}
}

// set sets a new entry under the hash of i.
func (t *localTest) set(i, seq int, cost int64) *localtest.Entry {
	e := &localtest.Entry{Hash: hashOf(i), Seq: seq}
	t.l.Set(e.Hash, e, cost)
	return e
}

func (t *localTest) wantMiss(hash uint64, when string) {
	t.Helper()
	if e, ok := t.l.Get(hash); ok {
		t.Fatalf("Get(%#x) %s = %v, true; want a miss", hash, when, e)
	}
}

func hashOf(i int) uint64 { return trace.Hash(uint64(i)) }
