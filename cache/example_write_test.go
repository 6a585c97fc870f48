package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
)

func ExampleCache_Set() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load:   loadUser,
		Policy: policy.Patch{MaxValueBytes: new(1000)},
	})
	defer done()

	// If two processes could Set one key at once, write to the source and Delete instead.
	err := users.Set(ctx, 42, User{Name: "Ada Lovelace"}, cache.TTL(time.Hour))
	fmt.Println(err)
	u, err := users.Get(ctx, 42)
	fmt.Println(u.Name, err)

	// A value above MaxValueBytes is kept in no tier, and the old value is invalidated.
	err = users.Set(ctx, 42, User{Name: strings.Repeat("x", 1000)})
	_, ok := users.Peek(ctx, 42)
	fmt.Println(errors.Is(err, cache.ErrTooLarge), ok)
	// Output:
	// <nil>
	// Ada Lovelace <nil>
	// true false
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

func ExampleCache_Expire() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.Config[int64, User]{
		Load:   func(context.Context, int64) (User, error) { return User{Name: "Ada"}, nil },
		Tags:   func(int64, User) []string { return []string{"org:7"} },
		Policy: policy.Patch{Stale: new(time.Hour)},
	})

	_, _ = users.Get(ctx, 42)
	fmt.Println(users.Expire(ctx, 42))
	r, _ := users.Fetch(ctx, 42, nil) // served as stale; a refresh runs in the background
	fmt.Println(r.Value.Name, "from", r.Source, "stale", r.Stale)

	_, _ = users.Get(ctx, 43)
	fmt.Println(tiers.Expire(ctx, invalidate.Tag(cache.DefaultTenant, "org:7"))) // all users with this tag
	r, _ = users.Fetch(ctx, 43, nil)
	fmt.Println(r.Value.Name, "from", r.Source, "stale", r.Stale)
	// Output:
	// <nil>
	// Ada from local stale true
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

func ExampleTiers_Invalidate() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.Config[int64, User]{
		Load: loadUser,
		Tags: func(_ int64, u User) []string { return []string{"org:" + u.Org} },
	})
	acme := users.Tenant("acme")

	_, _ = acme.Get(ctx, 42)
	fmt.Println(tiers.Invalidate(ctx, invalidate.Tag("acme", "org:7")))
	_, _ = acme.Get(ctx, 42)
	fmt.Println(tiers.Invalidate(ctx, invalidate.Prefix("acme", "users:")))
	_ = acme.Set(ctx, 42, User{Name: "Ada Lovelace"}, cache.Tags("import:2026-11")) // a tag of this call
	fmt.Println(tiers.Invalidate(ctx, invalidate.Tag("acme", "import:2026-11")))
	_, _ = acme.Get(ctx, 42)
	// Output:
	// load 42
	// <nil>
	// load 42
	// <nil>
	// <nil>
	// load 42
}

// A Cache makes its own scopes, because it knows its tenant and namespace.
func ExampleCache_Prefix() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	names := newCache(tiers, cache.Config[string, int]{Namespace: "names"})
	if err := names.SetMany(ctx, map[string]int{"john": 1, "john doe": 2, "jane": 3}); err != nil {
		panic(err)
	}
	if err := tiers.Invalidate(ctx, names.Prefix("john"), names.Tag("people"), names.Key("jim")); err != nil {
		panic(err)
	}
	_, john := names.Peek(ctx, "john doe")
	_, jane := names.Peek(ctx, "jane")
	fmt.Println(john, jane)
	// Output: false true
}

// After an import, one call invalidates everything in two namespaces.
func ExampleCache_All() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.For("users", loadUser))
	names := newCache(tiers, cache.Config[string, int64]{Namespace: "names"})

	_, _ = users.Get(ctx, 42)
	_ = names.Set(ctx, "Ada", 42)
	fmt.Println(tiers.Invalidate(ctx, users.All(), names.All()))
	_, user := users.Peek(ctx, 42)
	_, name := names.Peek(ctx, "Ada")
	fmt.Println(user, name)

	_, _ = users.Get(ctx, 42)
	fmt.Println(users.DeleteAll(ctx)) // one namespace; it takes the same time for two entries or two million
	_, user = users.Peek(ctx, 42)
	fmt.Println(user)
	// Output:
	// load 42
	// <nil>
	// false false
	// load 42
	// <nil>
	// false
}

// A database commits an invalidation together with the data. It reaches the processes soon, and
// all of them within the log's bound. Settle waits until it has reached all.
func ExampleTiers_Settle() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{
		Log: logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second}), // sqllog.New(db, …) in production
	})
	defer done()

	// … tx.Commit() …
	fmt.Println("this process knows:", tiers.Ready(ctx))
	fmt.Println("all of them know:", tiers.Settle(ctx))
	// Output:
	// this process knows: <nil>
	// all of them know: <nil>
}
