package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
)

func ExampleCache_Set() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	// If two processes could Set one key at once, write to the source and Delete instead.
	err := users.Set(ctx, 42, User{Name: "Ada Lovelace"}, cache.TTL(time.Hour))
	fmt.Println(err)
	u, err := users.Get(ctx, 42)
	fmt.Println(u.Name, err)
	// Output:
	// <nil>
	// Ada Lovelace <nil>
}

func ExampleCache_Delete() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	_, _ = users.Get(ctx, 42)
	// … change the user at the source …
	fmt.Println(users.Delete(ctx, 42))
	_, _ = users.Get(ctx, 42)
	// Output:
	// load 42
	// <nil>
	// load 42
}

func ExampleCache_DeleteAll() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	_, _ = users.Get(ctx, 42)
	_, _ = users.Get(ctx, 43)
	fmt.Println(users.DeleteAll(ctx)) // takes the same time for two entries or two million
	_, ok := users.Peek(ctx, 42)
	fmt.Println(ok)
	// Output:
	// load 42
	// load 43
	// <nil>
	// false
}

func ExampleCache_Expire() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load:   func(context.Context, int64) (User, error) { return User{Name: "Ada"}, nil },
		Policy: policy.Patch{Stale: new(time.Hour)},
	})
	defer done()

	_, _ = users.Get(ctx, 42)
	fmt.Println(users.Expire(ctx, 42))
	r, _ := users.Fetch(ctx, 42, nil) // served as stale; a refresh runs in the background
	fmt.Println(r.Value.Name, "from", r.Source, "stale", r.Stale)
	// Output:
	// <nil>
	// Ada from local stale true
}

func ExampleCache_Refresh() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	_, _ = users.Get(ctx, 42)
	fmt.Println(users.Refresh(ctx, 42)) // loads now, even if a value is cached
	fmt.Println(errors.Is(users.Refresh(ctx, 7), cache.ErrNotFound))
	// Output:
	// load 42
	// load 42
	// <nil>
	// load 7
	// true
}

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
	r, _ := users.Fetch(ctx, 42, nil) // served as stale; a refresh runs in the background
	fmt.Println(r.Value.Name, "from", r.Source, "stale", r.Stale)
	// Output:
	// <nil>
	// Ada from local stale true
}
