package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
