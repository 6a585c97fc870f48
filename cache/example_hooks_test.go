package cache_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
)

// Entry describes a value that enters or leaves the local tier.
func ExampleEntry() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{
		OnStored: func(e cache.Entry) {
			for _, tag := range e.Tags() {
				fmt.Println("stored", e.Key(), "with the tag", tag)
			}
		},
		OnRemoved: func(e cache.Entry, reason tier.EvictReason) {
			fmt.Println(reason, e.Key(), "could still be served:", e.Alive())
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer tiers.Close(ctx)
	users, err := cache.New(tiers, cache.Config[int, string]{Namespace: "users"})
	if err != nil {
		log.Fatal(err)
	}
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
