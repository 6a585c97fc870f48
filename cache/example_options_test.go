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

// A call may bring a policy of its own. Keep the Option, because its first use in a cache allocates.
func ExampleWith() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	night := cache.With(policy.Patch{TTL: new(8 * time.Hour), StaleIfError: new(24 * time.Hour)})
	u, err := users.GetOrLoad(ctx, 42, loadUser, night)
	fmt.Println(u.Name, err)

	_, err = users.Fetch(ctx, 42, nil, cache.With(policy.Patch{TTL: new(-time.Second)}))
	fault, ok := errors.AsType[*policy.FieldError](err)
	fmt.Println(errors.Is(err, cache.ErrOption), ok, fault)
	// Output:
	// load 42
	// Ada <nil>
	// true true policy: TTL: -1s is negative; want a duration of 0 or more
}

// A caller that knows of a change can ask for a value that is no older.
func ExampleMaxAge() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	_, _ = users.Get(ctx, 42)
	_, _ = users.Fetch(ctx, 42, nil, cache.MaxAge(time.Hour)) // a cached value is fine
	_, _ = users.Fetch(ctx, 42, nil, cache.MaxAge(0))         // only a load that begins now is
	// Output:
	// load 42
	// load 42
}

func ExampleFresh() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load:   loadUser,
		Policy: policy.Patch{Stale: new(time.Hour)},
	})
	defer done()

	_, _ = users.Get(ctx, 42)
	_ = users.Expire(ctx, 42)
	r, err := users.Fetch(ctx, 42, nil, cache.Fresh()) // waits for the load
	fmt.Println(r.Value.Name, "from", r.Source, "stale", r.Stale, err)
	// Output:
	// load 42
	// load 42
	// Ada from load stale false <nil>
}

func ExampleTags() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.Config[int64, User]{Load: loadUser})

	_ = users.Set(ctx, 42, User{Name: "Ada Lovelace"}, cache.Tags("import:2026-11"))
	_ = tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, "import:2026-11"))
	u, err := users.Get(ctx, 42)
	fmt.Println(u.Name, err)
	// Output:
	// load 42
	// Ada <nil>
}

// A call may skip a tier. Options are values: store them and pass them on. Use it for a value that only this process should keep, or for one that
// is read once and should not evict others.
func ExampleSkipLocal() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	scan := []cache.Option{cache.SkipLocal(), cache.SkipRemote()} // shares loads, keeps nothing
	_, _ = users.GetOrLoad(ctx, 42, nil, scan...)
	r, err := users.Fetch(ctx, 42, nil, cache.SkipRemote()) // kept only in this process
	fmt.Println(r.Source, err)
	r, err = users.Fetch(ctx, 42, nil)
	fmt.Println(r.Source, err)
	err = users.Set(ctx, 42, User{Name: "Ada"}, cache.MaxAge(time.Second))
	fmt.Println(errors.Is(err, cache.ErrOption))
	// Output:
	// load 42
	// load 42
	// load <nil>
	// local <nil>
	// true
}

// A request that reads many keys reads the clock once.
func ExampleCache_At() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	squares := newCache(tiers, cache.For("squares:v1", func(_ context.Context, n int) (int, error) { return n * n, nil }))
	sum := func(r cache.Reader[int, int]) (sum int) {
		for n := range 4 {
			v, _ := r.Get(ctx, n)
			sum += v
		}
		return sum
	}
	serve := func(m cache.Moment) { fmt.Println(sum(squares.At(m))) }
	serve(cache.Now()) // when the request begins
	// Output: 14
}
