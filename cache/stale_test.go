package cache_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
)

var swr = patch{TTL: new(10 * time.Second), Stale: new(time.Minute)}

// One process refreshes a stale value, and the others adopt its value.
func TestOneRefreshInTheFleet(t *testing.T) {
	play(t, scene{on: paired, cfg: thingConfig{Policy: swr}, steps: `
		source takes=2s; a gets 1.1; b gets 1.1; wait 15s; a gets 1.1 stale; b gets 1.1 stale` +
		strings.Repeat("; go a gets 1.1 stale; b gets 1.1 stale; wait 100ms", 19) + `; wait 100ms` +
		strings.Repeat("; go a gets any; b gets any; wait 100ms", 10) + `
		loads 2; a counts Refreshes=1 RefreshesAdopted=0; b counts Refreshes=0 RefreshesAdopted=1; a gets 1.2 local; b gets 1.2 local`})
}

func TestRefreshKeepsTheCallersLoaderAndTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{})
		c := with(t, tiers, thingConfig{Policy: swr})
		src := &source{}
		read := func() string {
			v, err := c.GetOrLoad(t.Context(), 1, src.load, cache.Tags("own"), cache.TTL(5*time.Second))
			succeeds(t, err)
			return v
		}
		read()
		advance(6 * time.Second)
		read()
		synctest.Wait()
		equal(t, read(), "1.2", "after the refresh")
		invalidateTag(t, tiers, "own")
		equal(t, read(), "1.3", "after the tag's invalidation")
	})
}

func TestRefreshAhead(t *testing.T) {
	for _, tt := range []struct {
		name      string
		beta      float64
		took      time.Duration
		low, high int // bounds on how many of 40 keys are refreshed within the TTL
	}{
		{"off", 0, 5 * time.Second, 0, 0},
		{"slow loads", 1, 5 * time.Second, 35, 40},
		{"quick loads", 1, time.Millisecond, 0, 2},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src := &source{took: tt.took}
			tiers := open(t, cache.TiersConfig{MaxRefreshes: 100})
			c := with(t, tiers, thingConfig{Load: src.load, Policy: patch{RefreshAhead: &tt.beta}})
			const keys = 40
			crowd(keys, func(k int) { get(t, c, k) })
			advance(time.Second)
			for range 57 { // until 2 s before the first TTL ends
				for k := range keys {
					if r, err := c.Fetch(t.Context(), k, nil); err != nil || r.Stale || r.Source != cache.Local {
						t.Errorf("Fetch(%d) = %+v, %v, want a fresh local value", k, r, err)
					}
				}
				advance(time.Second)
			}
			advance(tt.took)
			early := 0
			for k := range keys {
				if src.loads[k] > 1 {
					early++
				}
			}
			if early < tt.low || early > tt.high {
				t.Errorf("%d of %d keys were refreshed before their TTL ended, want %d to %d", early, keys, tt.low, tt.high)
			}
		})
	}
}

// lockedBuffer is a log that goroutines write to concurrently.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var failSafe = patch{TTL: new(10 * time.Second), StaleIfError: new(time.Hour), Throttle: new(3 * time.Second)}

func TestRefresh(t *testing.T) {
	play(t, scene{on: paired, steps: `
		a gets 1.1; source takes=1s; go a refreshes; a gets 1.1 local; wait 1s; a gets 1.2 local
		source fails; a refreshes failed; a gets 1.2 local
		source absent; a refreshes absent; a gets absent local`})
}

// A failed load is answered with an old value, unless the call or a newer absence forbids it.
func TestStaleIfError(t *testing.T) {
	play(
		t,
		scene{name: "refused by Fresh and MaxAge, also within a Throttle", cfg: thingConfig{Policy: failSafe}, steps: `
			a gets 1.1; wait 1m; source fails; a gets failed Fresh; a gets 1.1 local stale; a gets failed Fresh; a gets failed MaxAge=1s`},
		scene{name: "an absence ends it", on: paired, cfg: thingConfig{Policy: failSafe}, steps: `
			a gets 1.1; wait 1m; source absent; a gets absent load; source fails; wait 1m; a gets failed`},
		// The value is served for a Throttle without another load. This must not keep it longer.
		scene{name: "ends on time", cfg: thingConfig{Policy: patch{
			TTL: new(10 * time.Second), StaleIfError: new(20 * time.Second), Throttle: new(5 * time.Second),
		}}, steps: "a gets 1.1; source fails; wait 29s; a gets 1.1 stale; wait 1s; a gets failed"},
		scene{name: "without a Throttle every read loads", cfg: thingConfig{Policy: patch{
			StaleIfError: new(time.Hour), Throttle: new(time.Duration(0)),
		}}, steps: "a gets 1.1; source fails; wait 30m; a gets 1.1 local stale; a gets 1.1 local stale; a gets 1.1 local stale; loads 4"},
	)
}

// A panic is a bug. An old value must not hide it.
func TestPanicIsNotHidden(t *testing.T) {
	play(t, scene{cfg: thingConfig{Policy: failSafe}, steps: "a gets 1.1; wait 1m; source panics; a gets panic"})
}

// No policy serves an invalidated value. An expired value is still served.
func TestInvalidatedIsNeverServedStale(t *testing.T) {
	cfg := thingConfig{Policy: patch{
		TTL: new(10 * time.Second), Stale: new(time.Minute), StaleIfError: new(time.Hour),
		SoftTimeout: new(100 * time.Millisecond), LoadTimeout: new(5 * time.Second),
	}}
	for age, d := range map[string]string{"fresh": "1s", "stale": "20s", "last hope": "10m"} {
		for action, want := range map[string]string{
			"a deletes": "failed", "a deletes all": "failed", "a invalidates tag": "failed", "a expires": "1.1 stale", "wait 0s": "1.1 stale",
		} {
			if age == "fresh" && action == "wait 0s" {
				want = "1.1"
			}
			play(t, scene{name: action + " of what is " + age, on: "alone paired", cfg: cfg, steps: `
				a gets 1.1; wait ` + d + "; " + action + "; source fails; source takes=1s" + strings.Repeat("; go a gets "+want, 4) + "; a gets " + want})
		}
	}
}
