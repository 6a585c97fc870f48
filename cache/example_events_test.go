package cache_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
)

// A program keeps a value of its own beside the cache. It drops the value when any process
// invalidates what the value was made of.
func ExampleTiers_OnInvalidate() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.For("users:v1", func(context.Context, int) (string, error) { return "Ada", nil }))
	team := users.Tag("team:7").Fence()
	heard := make(chan bool)
	stop := tiers.OnInvalidate(func(e invalidate.Event) {
		for _, f := range e.Fences {
			if f == team || f.Kind == invalidate.KindAll {
				heard <- e.Local
			}
		}
	})
	if err := tiers.Invalidate(ctx, users.Tag("team:7")); err != nil {
		panic(err)
	}
	fmt.Println("the team has changed, by this process:", <-heard)
	stop()
	// Output: the team has changed, by this process: true
}

// Entry describes a value that enters or leaves the local tier.
func ExampleEntry() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{
		OnStored: func(e cache.Entry) {
			for _, tag := range e.Tags() {
				fmt.Println("stored", e.Key(), "with the tag", tag)
			}
		},
		OnRemoved: func(e cache.Entry, reason tier.EvictReason) {
			fmt.Println(reason, e.Key(), "could still be served:", e.Alive())
		},
	})
	defer done()
	users := newCache(tiers, cache.Config[int, string]{Namespace: "users"})
	if err := users.Set(ctx, 42, "Ada", cache.Tags("org:7")); err != nil {
		log.Fatal(err)
	}
	if err := users.Delete(ctx, 42); err != nil {
		log.Fatal(err)
	}
	// Output:
	// stored default:users:42 with the tag default:org:7
	// deleted default:users:42 could still be served: false
}

// An audit finds a write whose invalidation was forgotten.
func ExampleAuditing() {
	found := make(chan cache.StaleHit, 1)
	tiers, done := openTiers(cache.TiersConfig{
		Log:       logtest.NewMemory(logtest.MemoryConfig{Bound: 10 * time.Millisecond}), // in a real program: redislog.New(…)
		MaxAudits: 100,
		OnStale:   func(s cache.StaleHit) { found <- s },
		Logger:    slog.New(slog.DiscardHandler),
	})
	ctx := context.Background()
	defer done()

	type page struct {
		Title string
		Made  time.Time // of every load its own
	}
	var title atomic.Value
	title.Store("Draft")
	cfg := cache.For("pages:v1", func(ctx context.Context, id int64) (page, error) {
		if cache.Auditing(ctx) {
			fmt.Println("audit: read the primary")
		}
		return page{title.Load().(string), time.Now()}, nil
	})
	cfg.Equal = func(a, b page) bool { return a.Title == b.Title }
	cfg.Policy = policy.Patch{Audit: new(1.0), TTL: new(time.Hour)} // in a real program: 0.001
	pages := newCache(tiers, cfg)

	_, _ = pages.Get(ctx, 7)
	title.Store("Published") // and no pages.Delete(ctx, 7)
	_, _ = pages.Get(ctx, 7) // a hit: still the draft

	s := <-found
	fmt.Println("stale:", s.Key, s.Source, "healed:", s.Healed)
	p, _ := pages.Get(ctx, 7)
	fmt.Println("now:", p.Title)

	low, high := tiers.Stats().Audits.Fresh()
	fmt.Printf("fresh: between %.0f %% and %.0f %% of hits; %d stale kept\n", 100*low, 100*high, len(tiers.StaleHits()))
	// Output:
	// audit: read the primary
	// audit: read the primary
	// stale: default:pages:v1:7 local healed: true
	// now: Published
	// fresh: between 0 % and 79 % of hits; 1 stale kept
}
