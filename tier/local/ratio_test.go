package local_test

import (
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/localbench"
	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/internal/testkit/trace"
)

// TestHitRatio replays fixed traces. Ties are broken at random, which moves the results by a few tenths
// of a point. There is no comparison with another cache here: ristretto's ratios depend on when its
// goroutine runs, and moved by twenty points on a busy machine. internal/bench compares.
func TestHitRatio(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("replays millions of accesses")
	}
	for i, capacity := range []int{1000, 10_000} {
		for _, tc := range []struct {
			name   string
			keys   []uint64
			floors [2]float64 // at 1,000 and at 10,000 entries
		}{
			{"zipf", trace.Zipf(1, 100_000, 400_000), [2]float64{56, 74}},
			{"zipf and scan", trace.ZipfScan(1, 100_000, 400_000), [2]float64{50, 65.5}},
			{"loop", trace.Loop(capacity*3/2, 20*capacity), [2]float64{55, 55}}, // LRU has 0
			{"loop that fits", trace.Loop(capacity, 20*capacity), [2]float64{94, 94}},
			{"moving hot set", trace.MovingHotSet(1, 5*capacity, 10, 40*capacity), [2]float64{57, 65}},
			{"bursts", trace.Bursts(1, 400_000), [2]float64{45, 48}},
			{"churn", trace.Churn(1, capacity*4/5, 10*capacity, 100*capacity), [2]float64{88, 88}},
			{"twice", trace.Twice(capacity*2/5, 60*capacity), [2]float64{22, 36}},
			{"phases", trace.Phases(1, 100_000, capacity, 600_000), [2]float64{45, 54}},
		} {
			t.Run(fmt.Sprintf("%s/%d", tc.name, capacity), func(t *testing.T) {
				l := openFor(t, capacity)
				ours := localbench.HitRatio(l, trace.Hashes(tc.keys))
				t.Logf("%.1f %%, window %.2f", ours, l.Share())
				if floor := tc.floors[i]; ours < floor {
					t.Errorf("hit ratio %.1f %%, want at least %.1f", ours, floor)
				}
			})
		}
	}
}

// TestClimbHoweverTiesFall: with windows that are too small, nearly nothing is hit here. Ties that
// are broken at random must not decide whether the windows grow.
func TestClimbHoweverTiesFall(t *testing.T) {
	if race.Enabled {
		t.Skip("replays millions of accesses")
	}
	const capacity = 1000
	keys := trace.Hashes(trace.Twice(capacity*2/5, 60*capacity))
	for range 100 {
		if got := localbench.HitRatio(openFor(t, capacity), keys); got < 20 {
			t.Fatalf("hit ratio %.1f %%, want at least 20", got)
		}
	}
}
