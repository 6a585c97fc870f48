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
