package measure_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/internal/bench/measure"
	"github.com/twofold-go/twofold/internal/testkit/redistest"
)

func TestRunCounts(t *testing.T) {
	var calls atomic.Int64
	var mu sync.Mutex
	seen := map[int]bool{}
	r := measure.Run(t.Context(), measure.Config{Goroutines: 3, For: 5 * time.Millisecond}, func(int) func(int) {
		return func(i int) {
			calls.Add(1)
			mu.Lock()
			seen[i] = true
			mu.Unlock()
		}
	})
	if r.Ops != calls.Load() || r.Ops < 3 {
		t.Errorf("Ops = %d, want the %d calls that were made", r.Ops, calls.Load())
	}
	if int64(len(seen)) != r.Ops {
		t.Errorf("%d different numbers in %d calls, want each once", len(seen), r.Ops)
	}
	if r.Wall < 5*time.Millisecond || r.NsPerOp() <= 0 || r.PerSecond() <= 0 {
		t.Errorf("Wall = %v, %v ns/op, %v op/s, want at least the time asked for", r.Wall, r.NsPerOp(), r.PerSecond())
	}
}

// The warm-up does not count in any number.
func TestRunWarmsUp(t *testing.T) {
	var calls atomic.Int64
	r := measure.Run(t.Context(), measure.Config{Warm: time.Millisecond, For: time.Millisecond, Latencies: true}, func(int) func(int) {
		return func(int) { calls.Add(1) }
	})
	if r.Ops >= calls.Load() || int64(len(r.Times)) != r.Ops {
		t.Errorf("Ops = %d with %d times of %d calls, want those after the warm-up", r.Ops, len(r.Times), calls.Load())
	}
}

// However short the time is, each goroutine makes the operations that are asked for.
func TestRunMakesTheLeast(t *testing.T) {
	const least = 10_000
	var calls atomic.Int64
	r := measure.Run(t.Context(), measure.Config{Goroutines: 2, For: 1, Least: least}, func(int) func(int) {
		return func(int) { calls.Add(1) }
	})
	if r.Ops < 2*least || r.Ops != calls.Load() {
		t.Errorf("Ops = %d of %d calls, want %d at least", r.Ops, calls.Load(), 2*least)
	}
}

func TestRunKeepsLatencies(t *testing.T) {
	r := measure.Run(t.Context(), measure.Config{Goroutines: 2, For: time.Millisecond, Latencies: true}, func(int) func(int) {
		return func(int) {}
	})
	if int64(len(r.Times)) != r.Ops || !slices.IsSorted(r.Times) {
		t.Errorf("%d times for %d operations, sorted %v; want one each, sorted", len(r.Times), r.Ops, slices.IsSorted(r.Times))
	}
	if lo, hi := measure.Quantile(r.Times, 0), measure.Quantile(r.Times, 1); lo > hi || hi != r.Times[len(r.Times)-1] {
		t.Errorf("quantiles 0 and 1 are %v and %v, want the least and the greatest", lo, hi)
	}
}

var sink atomic.Pointer[[64]byte]

func TestRunCountsAllocations(t *testing.T) {
	r := measure.Run(t.Context(), measure.Config{For: 20 * time.Millisecond, Least: 100_000}, func(int) func(int) {
		return func(int) { sink.Store(new([64]byte)) }
	})
	if r.Allocs < 0.9 || r.Allocs > 1.5 || r.Bytes < 50 {
		t.Errorf("%v allocations of %v bytes per operation, want 1 of 64", r.Allocs, r.Bytes)
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]int64, 100)
	for i := range hundred {
		hundred[i] = int64(i + 1)
	}
	for _, tc := range []struct {
		list []int64
		q    float64
		want int64
	}{
		{nil, 0.5, 0},
		{[]int64{7}, 0, 7},
		{[]int64{7}, 0.99, 7},
		{[]int64{1, 2}, 0.5, 1},
		{[]int64{1, 2, 3}, 0.5, 2},
		{hundred, 0.5, 50},
		{hundred, 0.99, 99},
		{hundred, 1, 100},
	} {
		if got := measure.Quantile(tc.list, tc.q); got != tc.want {
			t.Errorf("Quantile(%d values, %v) = %d, want %d", len(tc.list), tc.q, got, tc.want)
		}
	}
}

func TestRoundsInterleave(t *testing.T) {
	var order []int
	measure.Rounds(t.Context(), 3, 3, func(i int) { order = append(order, i) })
	if diff := cmp.Diff([]int{0, 1, 2, 1, 2, 0, 2, 0, 1}, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestServerCountsCommands(t *testing.T) {
	rdb := redistest.Start(t).Client()
	before := measure.LookAt(t.Context(), rdb)
	for range 5 {
		rdb.Get(t.Context(), "nothing")
	}
	rdb.Set(t.Context(), "a", "b", 0)
	d := measure.LookAt(t.Context(), rdb).Since(before)
	if diff := cmp.Diff(map[string]int64{"get": 5, "set": 1}, d.Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if d.CPU < 0 {
		t.Errorf("CPU = %v, want no less than before", d.CPU)
	}
}
