package cache_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A database commits an invalidation together with the data. It reaches the processes soon, and
// all of them within the log's bound. Settle waits until it has reached all.
func ExampleTiers_Settle() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{
		Log: logtest.NewMemory(logtest.MemoryConfig{Bound: 10 * time.Millisecond}), // sqllog.New(db, …) in production
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()

	// … tx.Commit() …
	fmt.Println("this process knows:", tiers.Ready(ctx))
	fmt.Println("all of them know:", tiers.Settle(ctx))
	// Output:
	// this process knows: <nil>
	// all of them know: <nil>
}
