package cache_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
)

// An audit finds a write whose invalidation was forgotten.
func ExampleAuditing() {
	found := make(chan cache.StaleHit, 1)
	tiers, err := cache.Open(cache.TiersConfig{
		Log:       logtest.NewMemory(logtest.MemoryConfig{Bound: 10 * time.Millisecond}), // in a real program: redislog.New(…)
		MaxAudits: 100,
		OnStale:   func(s cache.StaleHit) { found <- s },
		Logger:    slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	defer func() { _ = tiers.Close(ctx) }()

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
	pages, err := cache.New(tiers, cfg)
	if err != nil {
		panic(err)
	}

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
