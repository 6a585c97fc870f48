package otter_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/otter"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func open(t testing.TB, maxBytes int64) *otter.Tier {
	t.Helper()
	l := otter.New(otter.Config{MaxBytes: maxBytes})
	if err := l.Validate(); err != nil {
		t.Fatalf("Validate() = %v, want nil", err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func hashOf(i int) uint64 { return trace.Hash(uint64(i)) }

func TestConformance(t *testing.T) {
	tiertest.TestLocal(t, func(t *testing.T) tier.Local {
		return otter.New(otter.Config{MaxBytes: tiertest.LocalBudget})
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
		{"largest", 1<<63 - 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := otter.New(otter.Config{MaxBytes: tc.maxBytes})
			defer l.Close()
			err := l.Validate()
			if (err == nil) != tc.ok {
				t.Errorf("Validate() with MaxBytes %d = %v, want ok %v", tc.maxBytes, err, tc.ok)
			}
			if err != nil && !strings.Contains(err.Error(), "MaxBytes") {
				t.Errorf("Validate() = %v, want an error that names MaxBytes", err)
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

func TestZeroTierHoldsNothing(t *testing.T) {
	var l otter.Tier
	if l.Set(1, "v", 1) {
		t.Error("Set = true, want false")
	}
	l.Delete(1)
	if e, ok := l.Get(1); ok {
		t.Errorf("Get = %v, true; want a miss", e)
	}
	if err := l.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
}

func TestOversize(t *testing.T) {
	const maxBytes = 1 << 20
	l := open(t, maxBytes)
	var got []event
	l.OnEvict(record(&got))
	l.Set(1, "old", 10)
	largest := int64(maxBytes/5 - otter.Overhead)
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

// TestWeightLimit checks the limit of otter's 32 bits: 64 GiB, whatever MaxBytes is.
func TestWeightLimit(t *testing.T) {
	l := open(t, 1<<50)
	const largest = (1<<32-1)*16 - otter.Overhead
	for _, tc := range []struct {
		cost int64
		ok   bool
	}{{largest, true}, {largest + 1, false}, {largest + otter.Overhead + 16, false}} {
		if got := l.Set(1, "v", tc.cost); got != tc.ok {
			t.Errorf("Set of cost %d = %v, want %v", tc.cost, got, tc.ok)
		}
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

func TestCloseReleasesMemory(t *testing.T) {
	l := open(t, 1<<20)
	e := &event{Cost: 1}
	there := weak.Make(e)
	l.Set(1, e, 100)
	e = nil //nolint:ineffassign,wastedassign // so that only the tier holds it
	runtime.GC()
	if there.Value() == nil {
		t.Fatal("an entry was collected while the tier held it")
	}
	l.Close()
	runtime.GC()
	if there.Value() != nil {
		t.Error("an entry was not collected after Close")
	}
	runtime.KeepAlive(l)
}

// TestBubble checks that no goroutine is left: it would fail the bubble.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := otter.New(otter.Config{MaxBytes: 64 << 10})
		for i := range 2000 {
			l.Set(hashOf(i), i, 100)
			l.Get(hashOf(i / 2))
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
