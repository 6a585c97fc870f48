package cache_test

import (
	"context"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The policy's StaleIfError lets a value stand in for a slow load after SoftTimeout. SetStale(0)
// prevents this.
func TestSlowLoadAfterSetStaleOfZero(t *testing.T) {
	for name, tt := range map[string]struct {
		say  func(f *cache.Fill)
		want fetched
	}{
		"nothing said":                  {func(*cache.Fill) {}, fetched{"1.1", cache.Local, true, nil}},
		"SetStale of zero":              {func(f *cache.Fill) { f.SetStale(0) }, fetched{"1.2", cache.Load, false, nil}},
		"SetStale, over":                {func(f *cache.Fill) { f.SetStale(time.Second) }, fetched{"1.1", cache.Local, true, nil}},
		"SetStale of zero, never fresh": {func(f *cache.Fill) { f.SetTTL(0); f.SetStale(0); f.SetStaleIfError(time.Hour) }, fetched{"1.2", cache.Load, false, nil}},
	} {
		bubble(t, name, func(t *testing.T) {
			src := &source{took: 10 * time.Second}
			c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.saying(tt.say), Policy: patch{
				TTL: new(time.Minute), StaleIfError: new(time.Hour), SoftTimeout: new(time.Second),
			}})
			get(t, c, 1)
			advance(2 * time.Minute)
			wantFetch(t, c, 1, tt.want)
		})
	}
}

// A value with SetStale(0) is fresh, but LocalTTL has passed. It is served after SoftTimeout.
func TestSlowLoadOfAnUntrustedValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: 10 * time.Second}
		mem := tiertest.NewMemory()
		c := with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{
			Load:   src.saying(func(f *cache.Fill) { f.SetStale(0) }),
			Policy: patch{TTL: new(time.Hour), LocalTTL: new(time.Minute), StaleIfError: new(time.Hour), SoftTimeout: new(time.Second)},
		})
		get(t, c, 1)
		advance(2 * time.Minute)
		must(t, mem.Unlink(t.Context(), cell1))
		wantFetch(t, c, 1, fetched{"1.1", cache.Local, true, nil})
	})
}

// An Expire does not remove a value whose Stale, StaleIfError or Keep has no end.
func TestExpireOfEndlessStale(t *testing.T) {
	for name, say := range map[string]func(f *cache.Fill){
		"Stale":        func(f *cache.Fill) { f.SetStale(math.MaxInt64) },
		"StaleIfError": func(f *cache.Fill) { f.SetStale(time.Hour); f.SetStaleIfError(math.MaxInt64) },
		"290 years":    func(f *cache.Fill) { f.SetStale(290 * 365 * 24 * time.Hour) },
		"Keep":         func(f *cache.Fill) { f.SetStale(time.Hour); f.SetKeep(math.MaxInt64) },
	} {
		bubble(t, name, func(t *testing.T) {
			for _, ttl := range []time.Duration{time.Hour, 10 * time.Hour, 1000 * time.Hour} {
				src := &source{}
				_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{
					Load: src.saying(func(f *cache.Fill) { f.SetTTL(ttl); say(f) }),
				})
				get(t, cs[0], 1)
				advance(time.Second)
				must(t, cs[0].Expire(t.Context(), 1))
				advance(time.Minute)
				if v, ok := cs[1].Peek(t.Context(), 1); !ok {
					t.Errorf("TTL %v: Peek = %q, %v while the value is stale, want 1.1", ttl, v, ok)
				}
			}
		})
	}
}

// A load does not get a value built from an expired part as Previous. ErrNotModified would make
// that value fresh.
func TestNotModifiedOfExpiredParts(t *testing.T) {
	for name, reader := range map[string]int{"one process": 0, "two processes": 1} {
		bubble(t, name, func(t *testing.T) {
			src := &source{}
			ts, parts := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Load: src.load, Policy: keptLong})
			var pages []things
			for i := range parts {
				pages = append(pages, built(t, ts[i], "pages", keptLong, unchanged(func(ctx context.Context) (string, error) {
					return parts[i].Get(ctx, 1)
				})))
			}
			get(t, parts[0], 1)
			get(t, parts[1], 1)
			src.took = 20 * time.Second
			for i := range ts {
				must(t, ts[i].Expire(t.Context(), keyScope(t, 1)))
			}
			advance(time.Second)
			wantFetch(t, pages[0], 1, fetched{"1.1", cache.Load, true, nil})
			for range 5 {
				advance(2 * time.Second)
				if r, err := pages[reader].Fetch(t.Context(), 1, nil); err != nil || r.Value != "1.1" || !r.Stale {
					t.Errorf("page = %+v, %v; want a stale page", r, err)
				}
			}
			for range 3 {
				advance(time.Minute)
				_, _ = pages[reader].Get(t.Context(), 1)
			}
			advance(time.Minute)
			if r, err := pages[reader].Fetch(t.Context(), 1, nil); err != nil || r.Value == "1.1" || r.Stale {
				t.Errorf("page = %+v, %v; want the new page", r, err)
			}
		})
	}
}
