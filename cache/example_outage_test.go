package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// While the log is unreachable, an invalidation applies in this process. It waits until it can
// be sent to the others.
func Example_outage() {
	ctx := context.Background()
	link := logtest.NewFaulty(logtest.NewMemory(logtest.MemoryConfig{})) // redislog.New(rdb, …) in production
	tiers, err := cache.Open(cache.TiersConfig{
		Log:            link,
		InvalidateWait: 10 * time.Millisecond,
		Logger:         slog.New(slog.DiscardHandler),
	})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.Config[int64, User]{Namespace: "users:v1", Load: loadUser})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("ready:", tiers.Ready(ctx)) // before the first request is served

	_, _ = users.Get(ctx, 42)
	link.Fail(errors.New("connection refused"))
	err = users.Delete(ctx, 42)
	fmt.Println(errors.Is(err, cache.ErrUnavailable))
	if pending, ok := errors.AsType[*invalidate.PendingError](err); ok {
		fmt.Println("scopes that wait:", pending.Pending)
	}
	_, _ = users.Get(ctx, 42) // deleted in this process, even without the log
	s := tiers.Stats().Log
	fmt.Println("scopes that wait:", s.Pending, "for some time:", s.PendingAge > 0)

	link.Heal()
	fmt.Println("ready:", tiers.Ready(ctx))
	// Output:
	// ready: <nil>
	// load 42
	// true
	// scopes that wait: 1
	// load 42
	// scopes that wait: 1 for some time: true
	// ready: <nil>
}
