package cache_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// User is the value in the examples.
type User struct{ Name, Org string }

// loadUser stands for a database. It prints each call.
func loadUser(_ context.Context, id int64) (User, error) {
	fmt.Println("load", id)
	switch id {
	case 42:
		return User{"Ada", "7"}, nil
	case 43:
		return User{"Charles", "7"}, nil
	}
	return User{}, cache.ErrNotFound
}

// openTiers is cache.Open, with a function that closes the tiers. A remote tier has time to answer: a busy
// machine may stop the tests for longer than the default RemoteTimeout.
func openTiers(cfg cache.TiersConfig) (tiers *cache.Tiers, done func()) {
	if cfg.Remote != nil {
		cfg.Policies = policy.Table{{Patch: policy.Patch{RemoteTimeout: new(time.Minute)}}}
	}
	tiers, err := cache.Open(cfg)
	if err != nil {
		log.Fatal(err)
	}
	return tiers, func() { _ = tiers.Close(context.Background()) }
}

// newCache is cache.New. The namespace is users:v1 unless cfg names another.
func newCache[K comparable, V any](tiers *cache.Tiers, cfg cache.Config[K, V]) cache.Cache[K, V] {
	cfg.Namespace = cmp.Or(cfg.Namespace, "users:v1")
	c, err := cache.New(tiers, cfg)
	if err != nil {
		log.Fatal(err)
	}
	return c
}

// example returns a cache on Tiers of its own, and a function that closes them.
func example[K comparable, V any](cfg cache.Config[K, V]) (c cache.Cache[K, V], done func()) {
	tiers, done := openTiers(cache.TiersConfig{})
	return newCache(tiers, cfg), done
}

func exampleUsers() (users cache.Cache[int64, User], done func()) {
	return example(cache.Config[int64, User]{Load: loadUser})
}

// A program opens tiers for the process and a cache for its values, then reads.
func Example() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{}) // a local tier of 64 MiB, and no remote tier
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()

	users, err := cache.New(tiers, cache.Config[int64, User]{
		Namespace: "users:v1",
		Load:      loadUser,
		Tags:      func(_ int64, u User) []string { return []string{"org:" + u.Org} },
		Policy:    policy.Patch{TTL: new(10 * time.Minute), Stale: new(time.Minute)},
	})
	if err != nil {
		log.Fatal(err)
	}
	for range 2 {
		u, err := users.Get(ctx, 42)
		fmt.Println(u.Name, err)
	}
	// Output:
	// load 42
	// Ada <nil>
	// Ada <nil>
}

func ExampleNew() {
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()

	// The error names every fault, not only the first one.
	_, err := cache.New(tiers, cache.Config[int64, User]{
		Tenant:    "acme:eu",
		Namespace: "users:v1",
		MaxBatch:  -1,
	})
	fmt.Println(err)
	// Output:
	// cache: new "users:v1": field Tenant: key: misplaced ':': tenant of 7 bytes: a tenant has no colon
	// field MaxBatch: -1 is negative: 0 means 100
}

func ExampleCache_Get() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	u, err := users.Get(ctx, 42)
	fmt.Println(u.Name, err)
	u, err = users.Get(ctx, 42) // from the local tier, without a load
	fmt.Println(u.Name, err)

	_, ok := users.Peek(ctx, 43) // Peek never loads
	fmt.Println(ok)

	_, err = users.Get(ctx, 7)
	fmt.Println(errors.Is(err, cache.ErrNotFound), err)
	_, err = users.Get(ctx, 7) // the absence is remembered, too
	if e, ok := errors.AsType[*cache.Error](err); ok {
		fmt.Println(e.Op, e.Key, errors.Is(e, cache.ErrNotFound))
	}
	// Output:
	// load 42
	// Ada <nil>
	// Ada <nil>
	// false
	// load 7
	// true cache: get default:users:v1:7: cache: not found
	// get default:users:v1:7 true
}

func ExampleCache_GetOrLoad() {
	ctx := context.Background()
	sessions, done := example(cache.Config[string, User]{}) // no bound loader
	defer done()

	login := func(_ context.Context, token string) (User, error) {
		return User{Name: "the owner of " + token}, nil
	}
	u, err := sessions.GetOrLoad(ctx, "t0ken", login, cache.TTL(time.Minute))
	fmt.Println(u.Name, err)

	_, err = sessions.Get(ctx, "another")
	fmt.Println(errors.Is(err, cache.ErrMiss))
	// Output:
	// the owner of t0ken <nil>
	// true
}

// A Result tells where the value comes from, for a metric or a header of the program's own.
func ExampleCache_Fetch() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	where := func(r cache.Result[User]) string {
		switch r.Source {
		case cache.Local:
			return "this process"
		case cache.Remote:
			return "the shared tier"
		case cache.Load:
			return "the source"
		}
		return "nowhere: the call failed"
	}
	for range 2 {
		r, err := users.Fetch(ctx, 42, nil) // nil: the bound loader
		fmt.Printf("%s from %s, stale %v, negative %v, %v\n", r.Value.Name, where(r), r.Stale, r.Negative, err)
	}
	_, _ = users.Get(ctx, 7)
	r, err := users.Fetch(ctx, 7, nil)
	fmt.Println("from", r.Source, "negative", r.Negative, errors.Is(err, cache.ErrNotFound))
	// Output:
	// load 42
	// Ada from the source, stale false, negative false, <nil>
	// Ada from this process, stale false, negative false, <nil>
	// load 7
	// from local negative true true
}

func ExampleCache_Tenant() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	acme := users.Tenant("acme") // a small value, cheap to make
	_ = acme.Set(ctx, 42, User{Name: "Wile E."})
	u, _ := acme.Get(ctx, 42)
	fmt.Println(u.Name)
	u, _ = users.Get(ctx, 42) // another tenant's entry
	fmt.Println(u.Name)
	// Output:
	// Wile E.
	// load 42
	// Ada
}
