package cache_test

import (
	"context"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

func ExampleTiers_Expire() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.Config[int64, User]{
		Namespace: "users:v1",
		Load:      func(context.Context, int64) (User, error) { return User{Name: "Ada"}, nil },
		Tags:      func(int64, User) []string { return []string{"org:7"} },
		Policy:    policy.Patch{Stale: new(time.Hour)},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	_, _ = users.Get(ctx, 42)
	fmt.Println(tiers.Expire(ctx, invalidate.Tag(cache.DefaultTenant, "org:7")))
	r, _ := users.Fetch(ctx, 42, nil) // served as it is; a refresh runs behind it
	fmt.Println(r.Value.Name, "from", r.Source, "stale", r.Stale)
	// Output:
	// <nil>
	// Ada from local stale true
}
