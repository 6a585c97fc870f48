package local_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/testkit/race"
	"github.com/twofold-go/twofold/tier"
)

// TestLifetimes replays traces with lifetimes. Without the ends, some of the same traces have far
// fewer hits.
func TestLifetimes(t *testing.T) {
	if testing.Short() || race.Enabled {
		t.Skip("replays a million accesses")
	}
	worse := false
	for i, l := range lifetimes {
		t.Run(l.name, func(t *testing.T) {
			told := lifetimeRatio(t, i, func(t *testing.T, room int) tier.Local { return openFor(t, room) })
			without := lifetimeRatio(t, i, func(t *testing.T, room int) tier.Local { return untold{openFor(t, room)} })
			t.Logf("%.1f %% hits, %.1f %% without the ends", told, without)
			if told < l.floor {
				t.Errorf("%.1f %% hits, want at least %.1f", told, l.floor)
			}
			worse = worse || without < l.floor-5
		})
	}
	if !worse {
		t.Error("no trace needs the ends, so the test proves nothing")
	}
}

// untold is a tier that does not learn the ends of its entries.
type untold struct{ tier.Local }

func (u untold) Open(h tier.Hooks) { u.Local.Open(tier.Hooks{Removed: h.Removed}) }
