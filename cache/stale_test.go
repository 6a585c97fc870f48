package cache_test

import (
	"cmp"
	"context"
	"fmt"
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
		loads 2; a counts Refreshes.Loaded=1 Refreshes.Adopted=0; b counts Refreshes.Loaded=0 Refreshes.Adopted=1; a gets 1.2 local; b gets 1.2 local`})
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

// staleMany is a cache whose values are fresh for 10 s and then served stale for an hour.
var staleMany = patch{TTL: new(10 * time.Second), Stale: new(time.Hour)}

// The stale keys of one GetMany are refreshed by as few LoadMany calls as MaxBatch allows, and so are those
// that are refreshed early. Each call takes one of MaxRefreshes, and its claims take one round trip.
func TestRefreshMany(t *testing.T) {
	early := thingConfig{Policy: patch{TTL: new(time.Minute + 15*time.Millisecond), RefreshAhead: new(1e6)}}
	for name, tt := range map[string]struct {
		on     ground
		cfg    thingConfig
		reader string // the process that reads the stale values
		keys   int
		sizes  string
		calls  int // to the remote tier
	}{
		"local":                 {keys: 100, sizes: "100"},
		"early":                 {cfg: early, keys: 100, sizes: "100"},
		"a remote tier":         {on: paired, keys: 100, sizes: "100", calls: 3},
		"from the remote tier":  {on: paired, reader: "b", keys: 100, sizes: "100", calls: 4},
		"three batches":         {keys: 250, sizes: "100 100 50"},
		"three remote batches":  {on: paired, reader: "b", keys: 250, sizes: "100 100 50", calls: 10},
		"with a Load beside it": {cfg: thingConfig{Load: (&source{}).load}, keys: 100, sizes: "100"},
	} {
		if tt.cfg.Policy.TTL == nil {
			tt.cfg.Policy = staleMany
		}
		steps := fmt.Sprintf(`
			source takes=10ms; a batches 0-%[1]d; batched any; wait 1m; R calls any; R batches 0-%[1]d; wait 100ms; batched %[2]s; loads %[3]d; R calls %[4]d
			R counts Refreshes.Loaded=%[5]d Refreshes.Skipped=0 Refreshes.Errors=0; R gets any fresh key=0-%[1]d`, tt.keys-1, tt.sizes, 2*tt.keys, tt.calls, tt.keys)
		play(t, scene{name: name, on: tt.on, many: true, tc: cache.TiersConfig{MaxRefreshes: 3}, cfg: tt.cfg, steps: strings.ReplaceAll(steps, "R ", cmp.Or(tt.reader, "a")+" ")})
	}
}

// A batch of refreshes takes one of MaxRefreshes until its last load ends, however the keys of
// the batch part. The keys of a batch that found no room are counted one by one.
func TestRefreshManyIsBounded(t *testing.T) {
	steps := "a batches 0-29; source takes=5s"
	for round := range 3 { // key 3 continues alone
		steps += fmt.Sprintf("; wait 1m; remote bars=3; a batches 0-29; a counts Refreshes.Skipped=%d; wait 10s; remote well", 10*(round+1))
	}
	play(t, scene{on: paired, many: true, tc: cache.TiersConfig{MaxRefreshes: 2}, cfg: thingConfig{Policy: staleMany, MaxBatch: 10}, steps: steps})
}

// One failed key of a batch of refreshes keeps its old value, and the others get new ones. A
// panic fails all of them. Each refresh releases its slot.
func TestRefreshManyFails(t *testing.T) {
	loads := 0
	play(t, scene{on: paired, tc: cache.TiersConfig{MaxRefreshes: 1}, cfg: thingConfig{Policy: staleMany, LoadMany: func(_ context.Context, keys []int) (map[int]string, error) {
		loads++
		m := map[int]string{}
		for _, k := range keys {
			m[k] = fmt.Sprintf("%d.%d", k, loads)
		}
		if loads == 3 {
			panicHere(errSource)
		}
		if loads == 2 {
			return m, cache.KeyErrors(map[int]error{2: errSource})
		}
		return m, nil
	}}, steps: `
		a batches 1-3; wait 1m; a batches 1-3; a counts Refreshes.Loaded=2 Refreshes.Errors=1; a gets 1.2; a gets 3.2 key=3; a gets 2.1 stale key=2
		wait 1m; a batches 1-3; a counts Refreshes.Loaded=2 Refreshes.Errors=4 Loads.Panics=3; a gets 1.2 stale; a gets 2.1 stale key=2; a gets 3.2 stale key=3
		wait 1m; a batches 1-3; a gets 1.4; a gets 2.4 key=2; a gets 3.4 key=3`})
}

// The callers of a shared Refresh leave one by one. When the last one leaves, the load ends.
func TestSharedRefreshIsLeft(t *testing.T) {
	play(t, scene{on: paired, steps: `
		a gets 1.1; source takes=20s; remote slow=10ms; go a refreshes late timeout=1s; go a refreshes late timeout=2s
		a refreshes late timeout=5s; took 5s; wait 100ms; loads 2; running 0`})
}

// Concurrent Refreshes of one key share a load that has not begun. A later Refresh starts its
// own load, because the running load may have read the source too early. The same holds for
// reads with MaxAge(0). The load is delayed for a moment, by the remote tier's answer or by another
// load that has the only turn.
func TestConcurrentRefreshes(t *testing.T) {
	for _, call := range []string{"refreshes", "gets any MaxAge=0s"} {
		play(
			t,
			scene{name: call, on: paired, steps: strings.ReplaceAll(`
				a gets 1.1; source takes=1s; remote slow=10ms; go 20 a CALL; wait 5s; loads 2; remote well
				go a CALL; wait 500ms; remote slow=10ms; go 20 a CALL; wait 10s; loads 4; remote well; a gets 1.4 local`, "CALL", call)},
			scene{name: call, tc: cache.TiersConfig{MaxLoads: 1}, steps: strings.ReplaceAll(`
				a gets 1.1; source takes=1s; go a gets 2.1 key=2; go 20 a CALL; wait 5s; loads 3
				go a CALL; wait 500ms; go 20 a CALL; wait 10s; loads 5; a gets 1.4 local`, "CALL", call)},
		)
	}
}

var paused = patch{TTL: new(10 * time.Second), Stale: new(8 * time.Second), StaleIfError: new(20 * time.Second), LoadTimeout: new(6 * time.Second)}

// A refresh whose value is not stored, as NoStore says, leaves the stale value. The next refresh starts
// no sooner than a LoadTimeout after it.
func TestRefreshThatIsNotStored(t *testing.T) {
	play(t, scene{cfg: thingConfig{Policy: paused}, steps: `
		a gets 1.1; says nostore; wait 11s; a gets 1.1 stale; loads 2; wait 5900ms; a gets 1.1 stale; loads 2
		wait 200ms; a gets 1.1 stale; loads 3`})
}

// Past Stale a value is not served while a refresh of it runs, since that may still succeed.
func TestRefreshBeyondStale(t *testing.T) {
	play(t, scene{cfg: thingConfig{Policy: paused}, steps: `
		a gets 1.1; source takes=3s; wait 17s; a gets 1.1 stale; wait 2s; a gets 1.2 load; took 1s; loads 2`})
}
