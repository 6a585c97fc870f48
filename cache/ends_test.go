package cache_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/ristretto"
)

// TestEndedEntriesLeave: an idle tier gives back the memory of entries that nothing can use any
// more, within a minute. OnRemoved says why.
func TestEndedEntriesLeave(t *testing.T) {
	for name, open := range map[string]func() tier.Local{
		"local":     func() tier.Local { return local.New(local.Config{}) },
		"ristretto": func() tier.Local { return ristretto.New(ristretto.Config{}) },
	} {
		bubble(t, name, func(t *testing.T) { testEnded(t, open()) })
	}
}

func testEnded(t *testing.T, l tier.Local) {
	const n = 5000
	var removed [256]atomic.Int64
	tiers := openEnding(t, l, func(_ cache.Entry, why tier.EvictReason) { removed[why].Add(1) })
	load := func(_ context.Context, k int) (string, error) {
		if k%10 == 0 {
			return "", cache.ErrNotFound
		}
		return "value", nil
	}
	c := with(t, tiers, thingConfig{Load: load, Policy: patch{
		TTL: new(time.Minute), Stale: new(time.Minute), StaleIfError: new(time.Minute), NegativeTTL: new(time.Minute),
	}})
	always := with(t, tiers, thingConfig{Namespace: "always", Load: load, Policy: patch{TTL: new(policy.Forever)}})
	entries := func() int64 { return tiers.Stats().Local.Entries }
	for k := range n {
		_, _ = c.Get(t.Context(), k)
	}
	get(t, always, 1)
	advance(59 * time.Second)
	if got := entries(); got != n+1 {
		t.Fatalf("%d entries before the first has ended, want %d", got, n+1)
	}
	advance(61 * time.Second) // the absences have ended a minute ago
	if got, want := entries(), int64(n*9/10+1); got != want {
		t.Errorf("%d entries, want %d: values that may be served stale stay", got, want)
	}
	advance(2 * time.Minute)
	if got := entries(); got != 1 {
		t.Errorf("%d entries a minute after the last end, want the one that never ends", got)
	}
	if got := removed[tier.Expired].Load(); got != n {
		t.Errorf("OnRemoved said %q %d times, want %d", tier.Expired, got, n)
	}
	if got := total(tiers).Evictions; got != 0 {
		t.Errorf("%d evictions counted, want none", got)
	}
}

func openEnding(t *testing.T, l tier.Local, removed func(cache.Entry, tier.EvictReason)) *cache.Tiers {
	t.Helper()
	return open(t, cache.TiersConfig{Local: l, OnRemoved: removed})
}

// TestEndsThatMove: a value that SetKeep keeps stays, and one that an Expire or an invalidation ends
// early leaves when a read has noticed.
func TestEndsThatMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := map[string]tier.EvictReason{}
		tiers := openEnding(t, local.New(local.Config{}), func(e cache.Entry, why tier.EvictReason) { gone[e.Key()] = why })
		var fails error
		c := with(t, tiers, thingConfig{
			Load: func(ctx context.Context, k int) (string, error) {
				if k == 1 {
					cache.Filling(ctx).SetKeep(time.Hour)
				}
				return "value", fails
			},
			Tags:   func(int, string) []string { return []string{"tag"} },
			Policy: patch{TTL: new(10 * time.Minute), Stale: new(time.Minute), RefreshAhead: new(0.0), NegativeTTL: new(time.Second)},
		})
		for k := range 4 {
			get(t, c, k)
		}
		fails = errSource
		must(t, c.Expire(t.Context(), 2))
		get(t, c, 2) // stale
		advance(2*time.Minute + time.Second)
		if got := tiers.Stats().Local.Entries; got != 3 {
			t.Errorf("%d entries after the Stale of one that expired, want 3", got)
		}
		advance(10 * time.Minute)
		if got := tiers.Stats().Local.Entries; got != 1 {
			t.Errorf("%d entries after the TTL, want the one that is kept", got)
		}
		invalidateTag(t, tiers, "tag")
		_, _ = c.Get(t.Context(), 1) // notices the invalidation, and fails
		advance(61 * time.Second)
		if got := tiers.Stats().Local.Entries; got != 0 {
			t.Errorf("%d entries after an invalidation that a read has noticed, want none", got)
		}
		for key, why := range gone {
			if why != tier.Expired {
				t.Errorf("%s left as %v, want expired", key, why)
			}
		}
		if len(gone) != 4 {
			t.Errorf("%d entries have left, want 4", len(gone))
		}
	})
}

// TestEndsThatAreHidden is the control of the tests above: a tier that does not learn the ends keeps
// entries that nothing can use.
func TestEndsThatAreHidden(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := local.New(local.Config{})
		tiers := open(t, cache.TiersConfig{Local: struct {
			tier.Local
			tier.Meter
		}{l, l}})
		c := with(t, tiers, thingConfig{Load: (&source{}).load, Policy: patch{TTL: new(time.Minute)}})
		get(t, c, 1)
		advance(time.Hour)
		if got := tiers.Stats().Local.Entries; got != 1 {
			t.Errorf("%d entries, want 1", got)
		}
	})
}
