package otter_test

import (
	"testing"
	"time"

	engine "github.com/maypok86/otter/v2"

	"github.com/twofold-go/twofold/internal/localbench"
	"github.com/twofold-go/twofold/tier/local"
)

// alone is otter without a tier around it. Its entries are the durations that they last.
type alone struct {
	c *engine.Cache[uint64, time.Duration]
}

func openAlone(t *testing.T, room int) localbench.Timed {
	t.Helper()
	c, err := engine.New(&engine.Options[uint64, time.Duration]{
		MaximumSize:      room,
		ExpiryCalculator: engine.ExpiryWritingFunc(func(e engine.Entry[uint64, time.Duration]) time.Duration { return e.Value }),
	})
	if err != nil {
		t.Fatal(err)
	}
	return alone{c}
}

func (a alone) Get(key uint64) bool {
	_, ok := a.c.GetIfPresent(key)
	return ok
}

func (a alone) Set(key uint64, ttl time.Duration) { a.c.Set(key, ttl) }
func (a alone) Close()                            { a.c.StopAllGoroutines() }

// TestLifetimes compares tier/local, the default tier, with otter on traces with lifetimes.
func TestLifetimes(t *testing.T) {
	if testing.Short() {
		t.Skip("replays a million accesses")
	}
	for i, l := range localbench.Lifetimes {
		t.Run(l.Name, func(t *testing.T) {
			ours := localbench.LifetimeRatio(t, i, func(_ *testing.T, room int) localbench.Timed {
				return localbench.NewTimedTier(local.New(local.Config{MaxBytes: int64(room) * (localbench.EntryCost + local.Overhead)}))
			})
			otters := localbench.LifetimeRatio(t, i, openAlone)
			t.Logf("tier/local %.1f %%, otter %.1f %%", ours, otters)
			if ours < otters-0.5 {
				t.Errorf("%.1f %% hits, want at least otter's %.1f minus 0.5", ours, otters)
			}
		})
	}
}
