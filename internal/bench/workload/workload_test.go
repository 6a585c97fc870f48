package workload_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/twofold-go/twofold/internal/bench/workload"
	"github.com/twofold-go/twofold/internal/trace"
)

// TestBeladyIsOptimal compares Belady with an exhaustive search, on traces that are short enough
// for that.
func TestBeladyIsOptimal(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		keys := make([]uint64, 1+r.IntN(11))
		for i := range keys {
			keys[i] = uint64(r.IntN(5))
		}
		capacity := 1 + r.IntN(3)
		if got, want := workload.Belady(keys, capacity), best(keys, nil, capacity); got != want {
			t.Fatalf("Belady(%v, %d) = %d, want %d", keys, capacity, got, want)
		}
	}
}

// best tries every way to fill a cache, including refusals.
func best(rest, held []uint64, capacity int) int {
	if len(rest) == 0 {
		return 0
	}
	if slices.Contains(held, rest[0]) {
		return 1 + best(rest[1:], held, capacity)
	}
	most := best(rest[1:], held, capacity) // refused
	if len(held) < capacity {
		return max(most, best(rest[1:], append(slices.Clip(held), rest[0]), capacity))
	}
	for i := range held {
		other := append([]uint64{rest[0]}, held[:i]...)
		most = max(most, best(rest[1:], append(other, held[i+1:]...), capacity))
	}
	return most
}

func TestBeladyOnALoop(t *testing.T) {
	// In a loop over 30 keys, a cache of 20 entries can have 20 hits per cycle.
	if got, want := workload.Belady(trace.Loop(30, 3000), 20), 20*99; got < want || got > want+30 {
		t.Errorf("Belady = %d hits, want about %d", got, want)
	}
}
