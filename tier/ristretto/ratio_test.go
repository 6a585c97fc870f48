package ristretto_test

import (
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/localbench"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/internal/testkit/trace"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// TestHitRatio replays fixed traces through the tier. The floors are those of ristretto alone that waits after
// each Set, less a point, and for the last two traces far above it. They are numbers, because two runs of ristretto
// differ by several points: it seeds its sketch by the clock, and loses accesses when its goroutine runs late.
func TestHitRatio(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("replays a million accesses")
	}
	const universe = 100_000
	for i, capacity := range []int{1000, 10_000} {
		for _, tc := range []struct {
			name   string
			keys   []uint64
			floors [2]float64 // at 1,000 and at 10,000 entries
		}{
			{"zipf", trace.Zipf(1, universe, 200_000), [2]float64{52, 68}},
			{"zipf and scan", trace.ZipfScan(1, universe, 200_000), [2]float64{45, 59}},
			{"loop", trace.Loop(capacity*3/2, 10*capacity), [2]float64{25, 25}}, // LRU has 0
			{"moving hot set", trace.MovingHotSet(1, 5*capacity, 10, 20*capacity), [2]float64{50, 55}},
		} {
			t.Run(fmt.Sprintf("%s/%d", tc.name, capacity), func(t *testing.T) {
				ours := localbench.HitRatio(open(t, int64(capacity)*(localbench.EntryCost+ristretto.Overhead)), trace.Hashes(tc.keys))
				t.Logf("%.1f %%", ours)
				if floor := tc.floors[i]; ours < floor {
					t.Errorf("hit ratio %.1f %%, want at least %.1f", ours, floor)
				}
			})
		}
	}
}
