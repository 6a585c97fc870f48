package cache_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

var swr = patch{TTL: new(10 * time.Second), Stale: new(time.Minute)}

func TestOneRefreshInTheFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: 2 * time.Second}
		ts, cs := fleet(t, 3, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Load: src.load, Policy: swr})
		for _, c := range cs {
			get(t, c, 1)
		}
		advance(15 * time.Second)
		for range 30 {
			crowd(len(cs), func(i int) {
				if v := get(t, cs[i], 1); v != "1.1" && v != "1.2" {
					t.Errorf("Get = %q", v)
				}
			})
			advance(100 * time.Millisecond)
		}
		src.wantLoads(t, 2)
		refreshed, adopted := int64(0), int64(0)
		for _, tiers := range ts {
			refreshed += total(tiers).Refreshes
			adopted += total(tiers).RefreshesAdopted
		}
		if refreshed != 1 || adopted != 2 {
			t.Errorf("%d refreshes, %d adopted by others, want 1 and 2", refreshed, adopted)
		}
		for _, c := range cs {
			wantFetch(t, c, 1, fetched{"1.2", cache.Local, false, nil})
		}
	})
}

func TestRefreshesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		tiers := open(t, cache.TiersConfig{MaxRefreshes: 3})
		c := with(t, tiers, thingConfig{Load: src.load, Policy: swr})
		for k := range 10 {
			get(t, c, k)
		}
		src.took = 5 * time.Second
		src.peak = 0
		advance(11 * time.Second)
		for k := range 10 {
			wantFetch(t, c, k, fetched{get(t, c, k), cache.Local, true, nil})
		}
		synctest.Wait()
		if s := total(tiers); s.RefreshesSkipped != 7 {
			t.Errorf("RefreshesSkipped = %d, want 7", s.RefreshesSkipped)
		}
		advance(6 * time.Second)
		if src.peak != 3 {
			t.Errorf("%d concurrent refreshes, want 3", src.peak)
		}
		// The refreshes released their slots.
		for range 5 {
			for k := range 10 {
				get(t, c, k)
			}
			advance(6 * time.Second)
		}
		if s := total(tiers); s.Refreshes < 10 {
			t.Errorf("Refreshes = %d, want at least 10, one for each key", s.Refreshes)
		}
	})
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
		if v := read(); v != "1.2" {
			t.Errorf("after the refresh: %q, want 1.2", v)
		}
		invalidateTag(t, tiers, "own")
		if v := read(); v != "1.3" {
			t.Errorf("after the tag's invalidation: %q, want 1.3", v)
		}
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

func TestExpire(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy patch
		remote bool
		want   fetched // the result of the next read
	}{
		{"stale is served once more", swr, false, fetched{"1.1", cache.Local, true, nil}},
		{"without Stale it loads", patch{}, false, fetched{"1.2", cache.Load, false, nil}},
		{"with a remote tier", swr, true, fetched{"1.1", cache.Local, true, nil}},
		{"with a remote tier, without Stale", patch{}, true, fetched{"1.2", cache.Load, false, nil}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src := &source{}
			var tc cache.TiersConfig
			if tt.remote {
				tc.Remote = tiertest.NewMemory()
			}
			c := with(t, open(t, tc), thingConfig{Load: src.load, Policy: tt.policy})
			succeeds(t, c.Expire(t.Context(), 1))
			get(t, c, 1)
			advance(time.Millisecond)
			succeeds(t, c.Expire(t.Context(), 1))
			wantFetch(t, c, 1, tt.want)
			synctest.Wait()
			wantFetch(t, c, 1, fetched{"1.2", cache.Local, false, nil})
		})
	}
}

func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Second}
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{Load: src.load})
		get(t, c, 1)
		done := make(chan error)
		go func() { done <- c.Refresh(t.Context(), 1) }()
		synctest.Wait()
		wantFetch(t, c, 1, fetched{"1.1", cache.Local, false, nil}) // during the refresh
		succeeds(t, <-done)
		wantFetch(t, c, 1, fetched{"1.2", cache.Local, false, nil})
		src.fail(errSource)
		wantError(t, c.Refresh(t.Context(), 1), "refresh", cell1, errSource)
		wantFetch(t, c, 1, fetched{"1.2", cache.Local, false, nil}) // the value is kept
		src.fail(cache.ErrNotFound)
		wantError(t, c.Refresh(t.Context(), 1), "refresh", cell1, cache.ErrNotFound)
		wantFetch(t, c, 1, fetched{"", cache.Local, false, cache.ErrNotFound})
	})
}

func TestNotModifiedWithoutPrevious(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: func(context.Context, int) (string, error) {
			return "", cache.ErrNotModified
		}})
		_, err := c.Get(t.Context(), 1)
		wantError(t, err, "get", cell1, cache.ErrNotModified)
		if errors.Is(err, cache.ErrNotFound) {
			t.Error("the error is taken for ErrNotFound")
		}
		if _, ok := cache.Previous[string](t.Context()); ok {
			t.Error("Previous outside a loader reports a value")
		}
	})
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

func TestStaleIfErrorIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.load, Policy: failSafe})
		get(t, c, 1)
		advance(time.Minute)
		src.fail(errSource)
		wantFetch(t, c, 1, fetched{"", 0, false, errSource}, cache.Fresh())
		wantFetch(t, c, 1, fetched{"1.1", cache.Local, true, nil})
		// The Throttle, which prevents loads for other reads, does not change this.
		wantFetch(t, c, 1, fetched{"", 0, false, errSource}, cache.Fresh())
		wantFetch(t, c, 1, fetched{"", 0, false, errSource}, cache.MaxAge(time.Second))
	})
}

// A panic is a bug. An old value must not hide it.
func TestPanicIsNotHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{Policy: failSafe, Load: func(context.Context, int) (string, error) {
			if n++; n > 1 {
				panicHere("x")
			}
			return "v", nil
		}})
		get(t, c, 1)
		advance(time.Minute)
		if _, ok := panicOf(func() { _, _ = c.Get(t.Context(), 1) }).(*cache.PanicError); !ok {
			t.Error("the panic was hidden")
		}
	})
}

func TestAbsenceEndsStaleIfError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{Load: src.load, Policy: failSafe})
		get(t, c, 1)
		advance(time.Minute)
		src.fail(cache.ErrNotFound)
		wantFetch(t, c, 1, fetched{"", cache.Load, false, cache.ErrNotFound})
		src.fail(errSource)
		advance(time.Minute)
		wantFetch(t, c, 1, fetched{"", 0, false, errSource})
	})
}

// No policy serves an invalidated value. An expired value is still served.
func TestInvalidatedIsNeverServedStale(t *testing.T) {
	all := patch{
		TTL: new(10 * time.Second), Stale: new(time.Minute), StaleIfError: new(time.Hour),
		SoftTimeout: new(100 * time.Millisecond), LoadTimeout: new(5 * time.Second),
	}
	const tag = "t"
	actions := []struct {
		name   string
		kills  bool
		action func(t *testing.T, tiers *cache.Tiers, c things) error
	}{
		{"Delete", true, func(t *testing.T, _ *cache.Tiers, c things) error { return c.Delete(t.Context(), 1) }},
		{"DeleteAll", true, func(t *testing.T, _ *cache.Tiers, c things) error { return c.DeleteAll(t.Context()) }},
		{"tag", true, func(t *testing.T, tiers *cache.Tiers, _ things) error { invalidateTag(t, tiers, tag); return nil }},
		{"Expire", false, func(t *testing.T, _ *cache.Tiers, c things) error { return c.Expire(t.Context(), 1) }},
		{"nothing", false, func(*testing.T, *cache.Tiers, things) error { return nil }},
	}
	for _, remote := range []tier.Remote{nil, tiertest.NewMemory()} {
		for _, age := range []struct {
			name string
			d    time.Duration
		}{{"fresh", time.Second}, {"stale", 20 * time.Second}, {"last hope", 10 * time.Minute}} {
			for _, a := range actions {
				name := a.name + " of what is " + age.name
				if remote != nil {
					name += " with a remote tier"
				}
				bubble(t, name, func(t *testing.T) {
					src := &source{}
					tc := cache.TiersConfig{}
					if remote != nil {
						tc.Remote = tiertest.NewMemory()
					}
					tiers := open(t, tc)
					c := with(t, tiers, thingConfig{Load: src.load, Policy: all, Tags: func(int, string) []string { return []string{tag} }})
					get(t, c, 1)
					advance(age.d)
					succeeds(t, a.action(t, tiers, c))
					src.fail(errSource)
					src.took = time.Second // beyond SoftTimeout
					crowd(5, func(int) {
						v, err := c.Get(t.Context(), 1)
						if a.kills && (v != "" || !errors.Is(err, errSource)) {
							t.Errorf("Get = %q, %v after %s, want the loader's error", v, err, a.name)
						}
						if !a.kills && (v != "1.1" || err != nil) {
							t.Errorf("Get = %q, %v, want the old value", v, err)
						}
					})
				})
			}
		}
	}
}

// An old value that stands in for a failed load is served for a Throttle without another load,
// to spare the source. This must not keep it longer than StaleIfError allows.
func TestFailSafeEndsOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.load, Policy: patch{
			TTL: new(10 * time.Second), StaleIfError: new(20 * time.Second), Throttle: new(5 * time.Second),
		}})
		get(t, c, 1)
		src.fail(errSource)
		advance(29 * time.Second)
		if v := get(t, c, 1); v != "1.1" { // this starts a Throttle
			t.Errorf("Get = %q, want the old value", v)
		}
		advance(time.Second)
		if v, err := c.Get(t.Context(), 1); !errors.Is(err, errSource) {
			t.Errorf("Get 30s after the load = %q, %v, want the loader's error", v, err)
		}
	})
}
