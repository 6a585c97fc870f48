package local_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/localbench"
	"github.com/twofold-go/twofold/internal/race"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
)

// TestLifetimes replays traces with lifetimes. Without the ends, some of the same traces have far
// fewer hits.
func TestLifetimes(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("replays a million accesses")
	}
	worse := false
	for i, l := range localbench.Lifetimes {
		t.Run(l.Name, func(t *testing.T) {
			told := localbench.LifetimeRatio(t, i, func(t *testing.T, room int) localbench.Timed {
				return localbench.NewTimedTier(contender.Open(t, room))
			})
			untold := localbench.LifetimeRatio(t, i, func(t *testing.T, room int) localbench.Timed {
				return localbench.NewTimedTier(struct{ tier.Local }{contender.Open(t, room)})
			})
			t.Logf("%.1f %% hits, %.1f %% without the ends", told, untold)
			if told < l.Floor {
				t.Errorf("%.1f %% hits, want at least %.1f", told, l.Floor)
			}
			worse = worse || untold < l.Floor-5
		})
	}
	if !worse {
		t.Error("no trace needs the ends, so the test proves nothing")
	}
}

var _ tier.Expirer = (*local.Tier)(nil)
