package cache_test

import (
	"context"
	"fmt"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// A program keeps a value of its own beside the cache. It drops the value when any process
// invalidates what the value was made of.
func ExampleTiers_OnInvalidate() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		panic(err)
	}
	users, err := cache.New(tiers, cache.For("users:v1", func(context.Context, int) (string, error) { return "Ada", nil }))
	if err != nil {
		panic(err)
	}
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
	if err := tiers.Close(ctx); err != nil {
		panic(err)
	}
	// Output: the team has changed, by this process: true
}
