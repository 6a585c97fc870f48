package ristretto_test

import (
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/localbench"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/internal/trace"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// TestHitRatio replays fixed traces through the tier and through ristretto alone. It asserts
// margins, not numbers: ristretto seeds its sketch by the clock and, under the race detector,
// loses some accesses.
func TestHitRatio(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("replays a million accesses")
	}
	const universe = 100_000
	for _, capacity := range []int{1000, 10_000} {
		zipf := trace.Hashes(trace.Zipf(1, universe, 200_000))
		scan := trace.Hashes(trace.ZipfScan(1, universe, 200_000))
		loop := trace.Hashes(trace.Loop(capacity*3/2, 10*capacity))
		moving := trace.Hashes(trace.MovingHotSet(1, 5*capacity, 10, 20*capacity))
		for _, tc := range []struct {
			name  string
			keys  []uint64
			wait  bool // compare with ristretto with a Wait after each Set
			floor func(ristretto float64) float64
		}{
			{"zipf", zipf, true, func(r float64) float64 { return r - 1 }},
			{"zipf and scan", scan, true, func(r float64) float64 { return r - 1 }},
			{"loop", loop, false, func(float64) float64 { return 25 }}, // LRU has 0
			{"moving hot set", moving, false, func(r float64) float64 { return r + 20 }},
		} {
			t.Run(fmt.Sprintf("%s/%d", tc.name, capacity), func(t *testing.T) {
				ours := localbench.HitRatio(open(t, int64(capacity)*(localbench.EntryCost+ristretto.Overhead)), tc.keys)
				theirs := localbench.HitRatio(localbench.Ristretto(t, capacity, tc.wait), tc.keys)
				t.Logf("tier %.1f %%, ristretto %.1f %% (waited for: %v)", ours, theirs, tc.wait)
				if floor := tc.floor(theirs); ours < floor {
					t.Errorf("hit ratio %.1f %%, want at least %.1f with ristretto's %.1f", ours, floor, theirs)
				}
			})
		}
	}
}
