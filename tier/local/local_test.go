package local_test

import (
	"math"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var _ interface {
	tier.Local
	tier.EvictNotifier
	tier.Meter
	tier.Validator
} = (*local.Tier)(nil)

func open(t testing.TB, maxBytes int64) *local.Tier {
	t.Helper()
	l := local.New(local.Config{MaxBytes: maxBytes})
	if err := l.Validate(); err != nil {
		t.Fatalf("Validate() = %v, want nil", err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func hashOf(i int) uint64 { return trace.Hash(uint64(i)) }

func TestConformance(t *testing.T) {
	tiertest.TestLocal(t, func(t *testing.T) tier.Local {
		return local.New(local.Config{MaxBytes: tiertest.LocalBudget})
	})
}

func TestValidate(t *testing.T) {
	for _, tc := range []struct {
		name     string
		maxBytes int64
		ok       bool
	}{
		{"zero is the default", 0, true},
		{"smallest", 16 << 10, true},
		{"too small", 16<<10 - 1, false},
		{"negative", -1, false},
		{"large", 1 << 40, true},
		{"no limit at all", math.MaxInt64, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := local.New(local.Config{MaxBytes: tc.maxBytes})
			defer l.Close()
			if err := l.Validate(); (err == nil) != tc.ok {
				t.Errorf("Validate() with MaxBytes %d = %v, want ok %v", tc.maxBytes, err, tc.ok)
			}
			if got := l.Set(1, "v", 1); got != tc.ok {
				t.Errorf("Set = %v, want %v", got, tc.ok)
			}
			if _, ok := l.Get(1); ok != tc.ok {
				t.Errorf("Get after Set = %v, want %v", ok, tc.ok)
			}
		})
	}
}

func TestOversize(t *testing.T) {
	const maxBytes = 1 << 20
	l := open(t, maxBytes)
	var got []event
	l.OnEvict(record(&got))
	l.Set(1, "old", 10)
	largest := int64(maxBytes/5 - local.Overhead)
	if l.Set(1, "huge", largest+1) {
		t.Error("Set above a fifth of MaxBytes = true, want false")
	}
	if _, ok := l.Get(1); ok {
		t.Error("Get after a refused Set hit, want the older entry gone")
	}
	if !l.Set(1, "large", largest) {
		t.Error("Set of a fifth of MaxBytes = false, want true")
	}
	if l.Set(2, "overflow", 1<<63-1) {
		t.Error("Set of the largest cost = true, want false")
	}
	want := []event{{"old", 10, tier.Replaced}, {"huge", largest + 1, tier.Rejected}, {"overflow", 1<<63 - 1, tier.Rejected}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("reported (-want +got):\n%s", d)
	}
}

func TestNegativeCostCountsAsZero(t *testing.T) {
	l := open(t, 1<<20)
	l.Set(1, "v", -5)
	if b, n := l.Usage(); b != 0 || n != 1 {
		t.Errorf("Usage() = %d, %d; want 0, 1", b, n)
	}
}

func TestClose(t *testing.T) {
	l := open(t, 1<<20)
	var got []event
	l.OnEvict(record(&got))
	for i := range 500 {
		l.Set(hashOf(i), i, 100)
	}
	for range 2 {
		if err := l.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	}
	if l.Set(1, "v", 1) || l.Set(1, "huge", 1<<30) {
		t.Error("Set after Close = true, want false")
	}
	l.Delete(hashOf(1))
	if b, n := l.Usage(); b != 0 || n != 0 {
		t.Errorf("Usage() after Close = %d, %d; want 0, 0", b, n)
	}
	if len(got) != 0 {
		t.Errorf("Close reported %v, want nothing", got)
	}
}

// TestBubble checks guarantee 5. A goroutine that outlives Close would fail the bubble, and so
// would one that blocks on anything outside it.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local.New(local.Config{MaxBytes: 64 << 10})
		for i := range 2000 {
			l.Set(hashOf(i), i, 100)
		}
		l.Close()
	})
}

func TestGetAllocatesNothing(t *testing.T) {
	l := open(t, 4<<20)
	for i := range 3000 {
		l.Set(hashOf(i), i, 1000)
	}
	i := 0
	if n := testing.AllocsPerRun(3000, func() { l.Get(hashOf(i)); i++ }); n != 0 {
		t.Errorf("Get allocates %v times, want 0", n)
	}
}

type event struct {
	Entry  any
	Cost   int64
	Reason tier.EvictReason
}

func record(to *[]event) func(tier.Entry, int64, tier.EvictReason) {
	return func(e tier.Entry, cost int64, r tier.EvictReason) { *to = append(*to, event{e, cost, r}) }
}
