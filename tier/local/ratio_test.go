package local_test

import (
	"fmt"
	"testing"

	"github.com/twofold-go/twofold/internal/localbench"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/internal/trace"
)

// TestHitRatio replays fixed traces through the tier and through ristretto alone, with a Wait
// after each Set. It asserts margins, not numbers, because ties are broken at random.
func TestHitRatio(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("replays millions of accesses")
	}
	for _, capacity := range []int{1000, 10_000} {
		for _, tc := range []struct {
			name  string
			keys  []uint64
			floor float64 // at 1,000 entries
			ahead float64 // margin over ristretto
		}{
			{"zipf", trace.Zipf(1, 100_000, 400_000), 53, 0},
			{"zipf and scan", trace.ZipfScan(1, 100_000, 400_000), 46, 0},
			{"loop", trace.Loop(capacity*3/2, 20*capacity), 45, -5},
			{"loop that fits", trace.Loop(capacity, 20*capacity), 95, -1},
			// On a busy machine ristretto loses accesses, and then follows a hot set faster: by
			// up to 13 points. So the floor is what counts here.
			{"moving hot set", trace.MovingHotSet(1, 5*capacity, 10, 40*capacity), 58, 0},
			{"bursts", trace.Bursts(1, 400_000), 40, 5},
			{"churn", trace.Churn(1, capacity*4/5, 10*capacity, 100*capacity), 88, -5},
			{"twice", trace.Twice(capacity*2/5, 60*capacity), 8, -5},
			{"phases", trace.Phases(1, 100_000, capacity, 600_000), 30, 0},
		} {
			t.Run(fmt.Sprintf("%s/%d", tc.name, capacity), func(t *testing.T) {
				keys := trace.Hashes(tc.keys)
				l := openFor(t, capacity)
				ours := localbench.HitRatio(l, keys)
				theirs := localbench.HitRatio(localbench.Ristretto(t, capacity, true), keys)
				t.Logf("tier %.1f %%, window %.2f; ristretto %.1f %%", ours, l.Share(), theirs)
				if ours < tc.floor || ours < theirs+tc.ahead {
					t.Errorf("hit ratio %.1f %%, want at least %.0f, and %+.0f points ahead of ristretto's %.1f", ours, tc.floor, tc.ahead, theirs)
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
