package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
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

// staleMany is a cache whose values are fresh for 10 s and then served stale for an hour.
var staleMany = patch{TTL: new(10 * time.Second), Stale: new(time.Hour)}

// wantBatches checks how many keys each LoadMany call got, the largest first.
func (s *source) wantBatches(t *testing.T, sizes ...int) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	var got []int
	for _, b := range s.batches {
		got = append(got, len(b))
	}
	slices.Sort(got)
	slices.Reverse(got)
	if !slices.Equal(got, sizes) {
		t.Errorf("LoadMany got %v keys, want %v", got, sizes)
	}
}

func (s *source) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches, s.loads = nil, nil
}

// The stale keys of one GetMany are refreshed by as few LoadMany calls as MaxBatch allows. Each
// call takes one of MaxRefreshes, and its claims take one round trip.
func TestRefreshMany(t *testing.T) {
	for name, tt := range map[string]struct {
		remote, single bool
		reader         int // the process that reads the stale values
		keys           int
		sizes          []int
	}{
		"local":                 {keys: 100, sizes: []int{100}},
		"a remote tier":         {remote: true, keys: 100, sizes: []int{100}},
		"from the remote tier":  {remote: true, reader: 1, keys: 100, sizes: []int{100}},
		"three batches":         {keys: 250, sizes: []int{100, 100, 50}},
		"three remote batches":  {remote: true, keys: 250, reader: 1, sizes: []int{100, 100, 50}},
		"with a Load beside it": {single: true, keys: 100, sizes: []int{100}},
	} {
		bubble(t, name, func(t *testing.T) {
			src, tc := &source{}, cache.TiersConfig{MaxRefreshes: 3}
			remote := faulty()
			cfg := thingConfig{LoadMany: src.loadMany, Policy: staleMany}
			if tt.single {
				cfg.Load = src.load
			}
			var tiers []*cache.Tiers
			var cs []things
			for range 2 {
				if tt.remote {
					tc.Remote = remote
				}
				tiers = append(tiers, open(t, tc))
				cs = append(cs, with(t, tiers[len(tiers)-1], cfg))
			}
			must(t, errOf(cs[0].GetMany(t.Context(), ints(0, tt.keys))))
			src.forget()
			advance(time.Minute)
			before := remote.Calls(tiertest.Claim)
			if m, err := cs[tt.reader].GetMany(t.Context(), ints(0, tt.keys)); len(m) != tt.keys || err != nil {
				t.Errorf("GetMany = %d values, %v, want %d stale ones", len(m), err, tt.keys)
			}
			synctest.Wait()
			src.wantBatches(t, tt.sizes...)
			src.wantLoads(t, tt.keys)
			s := total(tiers[tt.reader])
			if s.Refreshes != int64(tt.keys) || s.RefreshesSkipped != 0 || s.RefreshErrors != 0 {
				t.Errorf("%d refreshes, %d skipped, %d failed; want %d, 0, 0", s.Refreshes, s.RefreshesSkipped, s.RefreshErrors, tt.keys)
			}
			if n := remote.Calls(tiertest.Claim) - before; tt.remote && n > len(tt.sizes) {
				t.Errorf("%d claims, want at most %d", n, len(tt.sizes))
			}
			old := 0
			for k := range tt.keys {
				if r, err := cs[tt.reader].Fetch(t.Context(), k, nil); r.Stale || err != nil {
					old++
				}
			}
			if old > 0 {
				t.Errorf("after the refreshes %d keys are stale or fail, want none", old)
			}
		})
	}
}

// A batch of refreshes takes one of MaxRefreshes until its last load ends, however the keys of
// the batch part. The keys of a batch that found no room are counted one by one.
func TestRefreshManyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		remote := faulty()
		tiers := open(t, cache.TiersConfig{MaxRefreshes: 2, Remote: remote})
		c := with(t, tiers, thingConfig{LoadMany: src.loadMany, Policy: staleMany, MaxBatch: 10})
		must(t, errOf(c.GetMany(t.Context(), ints(0, 30))))
		src.forget()
		src.took = 5 * time.Second
		for round := range 3 {
			advance(time.Minute)
			remote.FailKeys(errors.New("node down"), "default:things:3") // this key continues alone
			if m, err := c.GetMany(t.Context(), ints(0, 30)); len(m) != 30 || err != nil {
				t.Errorf("GetMany = %d values, %v", len(m), err)
			}
			synctest.Wait()
			if s := total(tiers); s.RefreshesSkipped != int64(10*(round+1)) {
				t.Errorf("round %d: %d refreshes were skipped, want 10 in each round", round, s.RefreshesSkipped)
			}
			advance(10 * time.Second)
			remote.Heal()
		}
	})
}

// One failed key of a batch of refreshes keeps its old value, and the others get new ones. A
// panic fails all of them.
func TestRefreshManyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mode := ""
		tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory(), MaxRefreshes: 1}) // each refresh releases its slot
		c := with(t, tiers, thingConfig{Policy: staleMany, LoadMany: func(_ context.Context, keys []int) (map[int]string, error) {
			m := map[int]string{}
			for _, k := range keys {
				m[k] = fmt.Sprint(k, mode)
			}
			switch mode {
			case "one":
				return m, cache.KeyErrors(map[int]error{2: errSource})
			case "panic":
				panicHere("batch")
			}
			return m, nil
		}})
		read := func(want map[int]string) {
			t.Helper()
			m, err := c.GetMany(t.Context(), []int{1, 2, 3})
			for k, v := range want {
				if m[k] != v {
					t.Errorf("mode %q: GetMany[%d] = %q, %v, want %q", mode, k, m[k], err, v)
				}
			}
			synctest.Wait()
		}
		read(map[int]string{1: "1", 2: "2", 3: "3"})
		advance(time.Minute)
		mode = "one"
		read(map[int]string{1: "1", 2: "2", 3: "3"})
		mode = "panic"
		read(map[int]string{1: "1one", 2: "2", 3: "3one"})
		if s := total(tiers); s.Refreshes != 2 || s.RefreshErrors != 1 {
			t.Errorf("%d refreshes, %d failed, want 2 and 1", s.Refreshes, s.RefreshErrors)
		}
		advance(time.Minute)
		read(map[int]string{1: "1one", 2: "2", 3: "3one"})
		if s := total(tiers); s.RefreshErrors != 4 || s.LoadPanics == 0 {
			t.Errorf("after the panic %d refreshes failed, %d panics, want 4", s.RefreshErrors, s.LoadPanics)
		}
		mode = "new"
		advance(time.Minute)
		read(map[int]string{1: "1one", 2: "2", 3: "3one"})
		read(map[int]string{1: "1new", 2: "2new", 3: "3new"})
	})
}

// Early refreshes of one GetMany share a LoadMany call, too.
func TestRefreshAheadMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Second}
		tiers := open(t, cache.TiersConfig{})
		c := with(t, tiers, thingConfig{LoadMany: src.loadMany, Policy: patch{
			TTL: new(time.Minute), RefreshAhead: new(5.0),
		}})
		must(t, errOf(c.GetMany(t.Context(), ints(0, 100))))
		src.forget()
		advance(time.Minute - 20*time.Millisecond) // nearly every key is due
		if m, err := c.GetMany(t.Context(), ints(0, 100)); len(m) != 100 || err != nil {
			t.Errorf("GetMany = %d values, %v", len(m), err)
		}
		advance(2 * time.Second)
		src.mu.Lock()
		defer src.mu.Unlock()
		if len(src.batches) != 1 || len(src.batches[0]) < 50 {
			t.Errorf("the early refreshes were %d calls of LoadMany: %v, want one for most of the keys", len(src.batches), src.batches)
		}
	})
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
