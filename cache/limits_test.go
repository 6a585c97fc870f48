package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func TestMaxFlights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Second}
		tiers := open(t, cache.TiersConfig{MaxFlights: 2})
		c := with(t, tiers, thingConfig{Load: src.load})
		for k := range 2 {
			go func() { get(t, c, k) }()
		}
		synctest.Wait()
		_, err := c.Get(t.Context(), 3)
		wantError(t, err, "get", "default:things:3", cache.ErrOverloaded)
		m, err := c.GetMany(t.Context(), []int{0, 3}) // joins the flight of 0, has no room for 3
		if m[0] != "0.1" || err == nil {
			t.Errorf("GetMany = %v, %v", m, err)
		}
		if n := total(tiers).FlightsRefused; n != 2 {
			t.Errorf("FlightsRefused = %d, want 2: Get and a key of GetMany", n)
		}
		advance(time.Second)
		if v := get(t, c, 3); v != "3.1" {
			t.Errorf("Get(3) = %q after the flights ended", v)
		}
	})
}

// A GetMany of more absent keys than MaxFlights loads them in parts, and all of them.
func TestGetManyBeyondMaxFlights(t *testing.T) {
	for _, many := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src := &source{took: time.Second}
			cfg := thingConfig{Load: src.load}
			if many {
				cfg = thingConfig{LoadMany: src.loadMany, MaxBatch: 10}
			}
			tiers := open(t, cache.TiersConfig{MaxFlights: 64, Remote: tiertest.NewMemory()})
			c := with(t, tiers, cfg)
			keys := ints(0, 1000)
			got, err := c.GetMany(t.Context(), keys)
			if err != nil || len(got) != len(keys) {
				t.Errorf("GetMany = %d values, %v; want %d", len(got), err, len(keys))
			}
			src.wantLoads(t, len(keys))
			if n := total(tiers).FlightsRefused; n != 0 {
				t.Errorf("FlightsRefused = %d", n)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := c.GetMany(ctx, keys); err != nil { // all are hits
				t.Errorf("GetMany of hits = %v", err)
			}
		})
	}
}

func TestMaxTenants(t *testing.T) {
	src := &source{}
	tiers := open(t, cache.TiersConfig{MaxTenants: 3})
	c := with(t, tiers, thingConfig{Load: src.load})
	for i := range 10 {
		tenant := c.Tenant(fmt.Sprint("tenant", i))
		get(t, tenant, 1)
		get(t, tenant, 1)
		if v := get(t, c.Tenant(fmt.Sprint("tenant", i)), 1); v != fmt.Sprintf("1.%d", i+1) {
			t.Errorf("a second Cache of tenant %d reads %q", i, v)
		}
	}
	spaces := map[string]int64{}
	for _, s := range tiers.Stats().Spaces {
		spaces[s.Tenant] = s.LocalHits
	}
	if len(spaces) != 4 || spaces["tenant0"] != 2 || spaces["other"] != 16 {
		t.Errorf("hits by tenant = %v, want three tenants and the rest as other", spaces)
	}
}

// One process under overload has small limits. Nothing hangs, and the limits hold.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{took: 100 * time.Millisecond}, tiertest.NewFaulty(tiertest.NewMemory())
		remote.Hang(true)
		tiers := open(t, cache.TiersConfig{Remote: remote, MaxLoads: 5, MaxRefreshes: 2})
		c := with(t, tiers, thingConfig{Load: src.load, Policy: patch{LoadTimeout: new(time.Second)}})
		start := time.Now()
		ok, overloaded := 0, 0
		results := make(chan error, 500)
		crowd(500, func(k int) { _, err := c.Get(t.Context(), k); results <- err })
		close(results)
		for err := range results {
			if err == nil {
				ok++
			} else {
				overloaded++
				if !errors.Is(err, cache.ErrOverloaded) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("refused with %v", err)
				}
			}
		}
		if d := time.Since(start); d > 1500*time.Millisecond {
			t.Errorf("the last caller got its answer after %v, want at most 1.5s", d)
		}
		if src.peak > 5 || ok < 40 || overloaded == 0 {
			t.Errorf("%d concurrent loads, %d answers, %d refusals; want at most 5 loads, at least 40 answers and 1 refusal", src.peak, ok, overloaded)
		}
		remote.Heal()
	})
}

// The text of a key counts in the budget of the local tier, in a struct, too. What a key points to
// does not.
func TestBudgetCountsKeys(t *testing.T) {
	type name struct{ Text string }
	tiers := open(t, cache.TiersConfig{})
	texts := with(t, tiers, cache.Config[string, int]{Namespace: "texts"})
	names := with(t, tiers, cache.Config[name, int]{Namespace: "names"})
	const long, n = 900, 10
	for i := range n {
		text := fmt.Sprintf("%0*d", long, i)
		must(t, errors.Join(texts.Set(t.Context(), text, i), names.Set(t.Context(), name{text}, i)))
	}
	if got := tiers.Stats().Local.Bytes; got < 2*n*long || got > 2*n*(long+500) {
		t.Errorf("%d entries with keys of %d bytes take %d bytes in all", 2*n, long, got)
	}
}
