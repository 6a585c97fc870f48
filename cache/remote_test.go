package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

const cell1 = "default:things:1"

var errRemote = errors.New("the remote tier is down")

// Under any fault of the remote tier a read soon gets an answer, by a load that all callers
// share. When the tier recovers, it is used again.
func TestRemoteFaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		harm func(f *tiertest.Faulty)
	}{
		{"errors", func(f *tiertest.Faulty) { f.Fail(errRemote) }},
		{"reads fail", func(f *tiertest.Faulty) { f.Fail(errRemote, tiertest.Get, tiertest.GetMany) }},
		{"claims fail", func(f *tiertest.Faulty) { f.Fail(errRemote, tiertest.Claim, tiertest.ClaimMany) }},
		{"fills fail", func(f *tiertest.Faulty) { f.Fail(errRemote, tiertest.Fill, tiertest.FillMany) }},
		{"hangs", func(f *tiertest.Faulty) { f.Hang(true) }},
		{"reads hang", func(f *tiertest.Faulty) { f.Hang(true, tiertest.Get, tiertest.GetMany) }},
		{"claims hang", func(f *tiertest.Faulty) { f.Hang(true, tiertest.Claim, tiertest.ClaimMany) }},
		{"fills hang", func(f *tiertest.Faulty) { f.Hang(true, tiertest.Fill, tiertest.FillMany) }},
		{"slow", func(f *tiertest.Faulty) { f.Delay(40 * time.Millisecond) }},
		{"fills are lost", func(f *tiertest.Faulty) { f.Fills(tiertest.FillsLost) }},
		{"fills are not acknowledged", func(f *tiertest.Faulty) { f.Fills(tiertest.FillsUnacked) }},
		{"panics", func(f *tiertest.Faulty) {
			f.Corrupt(func([]byte) []byte { panicHere("client library"); return nil })
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src, remote := &source{took: 10 * time.Millisecond}, faulty()
			tiers := open(t, cache.TiersConfig{Remote: remote})
			c := with(t, tiers, thingConfig{Load: src.load, LoadMany: src.loadMany})
			other := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
			for k := range 20 {
				get(t, other, k) // cells for Corrupt to damage
			}
			tt.harm(remote)
			for k := range 20 {
				start := time.Now()
				crowd(10, func(int) {
					if v := get(t, c, k); v == "" {
						t.Errorf("Get(%d) is empty", k)
					}
				})
				// Get, Claim and Fill each have a deadline of 50 ms.
				if d := time.Since(start); d > 170*time.Millisecond {
					t.Errorf("Get(%d) took %v", k, d)
				}
			}
			start := time.Now()
			if m, err := c.GetMany(t.Context(), ints(20, 60)); len(m) != 40 || err != nil || time.Since(start) > 200*time.Millisecond {
				t.Errorf("GetMany = %d values, %v, after %v", len(m), err, time.Since(start))
			}
			if n := src.total(); n > 20+20+40 {
				t.Errorf("%d loads, want at most one for each key and process", n)
			}
			remote.Heal()
			advance(2 * time.Second) // wait until the breaker is half-open
			fresh := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
			get(t, c, 1000)
			wantFetch(t, fresh, 1000, fetched{"1000.1", cache.Remote, false, nil})
		})
	}
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote})
		c := with(t, tiers, thingConfig{Load: src.load})
		state := func(want string) {
			t.Helper()
			if got := tiers.Stats().Remote.Breaker; got != want {
				t.Errorf("breaker is %s, want %s", got, want)
			}
		}
		remote.Fail(errRemote)
		for k := range 5 {
			get(t, c, k)
		}
		state("open")
		remote.ResetCalls()
		start := time.Now()
		for k := range 100 {
			get(t, c, 10+k)
		}
		if n := remote.Calls(); n != 0 || time.Since(start) != 0 {
			t.Errorf("%d calls while the breaker is open", n)
		}
		if s := tiers.Stats().Remote; s.GetErrors == 0 {
			t.Errorf("errors are not counted: %+v", s)
		}
		advance(1100 * time.Millisecond)
		state("half-open")
		for k := range 20 {
			get(t, c, 200+k)
		}
		if n := remote.Calls(); n != 1 {
			t.Errorf("%d calls of a half-open breaker, want 1", n)
		}
		remote.Heal()
		advance(1100 * time.Millisecond)
		get(t, c, 300)
		state("closed")
		remote.ResetCalls()
		get(t, c, 301)
		if n := remote.Calls(); n != 3 {
			t.Errorf("%d calls for a miss, want get, claim and fill", n)
		}
	})
}

// A caller that leaves does not count as a failure of the remote tier.
func TestImpatientCallersDoNotTripTheBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		remote.Delay(20*time.Millisecond, tiertest.Get)
		tiers := open(t, cache.TiersConfig{Remote: remote})
		c := with(t, tiers, thingConfig{Load: src.load})
		for k := range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, _ = c.Get(ctx, k)
			cancel()
		}
		synctest.Wait()
		if s := tiers.Stats().Remote.Breaker; s != "closed" {
			t.Errorf("the breaker is %s, want closed", s)
		}
	})
}

// A load that takes much longer than ClaimTTL renews its claim.
func TestLongLoadKeepsItsClaim(t *testing.T) {
	for _, batch := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src := &source{took: 20 * time.Second}
			cfg := thingConfig{Load: src.load}
			if batch {
				cfg = thingConfig{LoadMany: src.loadMany}
			}
			_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, cfg)
			crowd(2, func(i int) {
				advance(time.Duration(i) * time.Second)
				if m, err := cs[i].GetMany(t.Context(), []int{1}); m[1] != "1.1" || err != nil {
					t.Errorf("GetMany = %v, %v", m, err)
				}
			})
			src.wantLoads(t, 1)
		})
	}
}

// A hold prevents caching of the key for its time.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, mem := &source{}, tiertest.NewMemory()
		tiers := open(t, cache.TiersConfig{Remote: mem})
		c := with(t, tiers, thingConfig{Load: src.load})
		store(t, mem, cell1, tier.HoldCell(tier.NewNonce()), time.Second)
		wantFetch(t, c, 1, fetched{"1.1", cache.Load, false, nil})
		wantFetch(t, c, 1, fetched{"1.2", cache.Load, false, nil})
		if m, err := c.GetMany(t.Context(), []int{1}); m[1] != "1.3" || err != nil {
			t.Errorf("GetMany = %v, %v, want another load", m, err)
		}
		if n := total(tiers).FillsNotWanted; n != 3 {
			t.Errorf("FillsNotWanted = %d, want 3", n)
		}
		advance(time.Second)
		wantFetch(t, c, 1, fetched{"1.4", cache.Load, false, nil})
		wantFetch(t, c, 1, fetched{"1.4", cache.Local, false, nil})
	})
}
