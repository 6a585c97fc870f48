package cache_test

import (
	"context"
	"fmt"
	"log"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

func ExampleTiers_Invalidate() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.Config[int64, User]{
		Namespace: "users:v1",
		Load:      loadUser,
		Tags:      func(_ int64, u User) []string { return []string{"org:" + u.Org} },
	})
	if err != nil {
		log.Fatal(err)
	}
	acme := users.Tenant("acme")

	_, _ = acme.Get(ctx, 42)
	fmt.Println(tiers.Invalidate(ctx, invalidate.Tag("acme", "org:7")))
	_, _ = acme.Get(ctx, 42)
	fmt.Println(tiers.Invalidate(ctx, invalidate.Prefix("acme", "users:")))
	_, _ = acme.Get(ctx, 42)
	// Output:
	// load 42
	// <nil>
	// load 42
	// <nil>
	// load 42
}

// A Cache makes its own scopes, because it knows its tenant and namespace.
func ExampleCache_Prefix() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	names, err := cache.New(tiers, cache.Config[string, int]{Namespace: "names"})
	if err != nil {
		panic(err)
	}
	if err := names.SetMany(ctx, map[string]int{"john": 1, "john doe": 2, "jane": 3}); err != nil {
		panic(err)
	}
	if err := tiers.Invalidate(ctx, names.Prefix("john"), names.Tag("people")); err != nil {
		panic(err)
	}
	_, john := names.Peek(ctx, "john doe")
	_, jane := names.Peek(ctx, "jane")
	fmt.Println(john, jane)
	if err := names.DeleteMany(ctx, []string{"jane", "joe"}, names.Key("jim")); err != nil {
		panic(err)
	}
	_, jane = names.Peek(ctx, "jane")
	fmt.Println(jane)
	// Output:
	// false true
	// false
}

// After an import, one call invalidates everything in two namespaces.
func ExampleCache_All() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.For("users", loadUser))
	if err != nil {
		log.Fatal(err)
	}
	names, err := cache.New(tiers, cache.Config[string, int64]{Namespace: "names"})
	if err != nil {
		log.Fatal(err)
	}

	_, _ = users.Get(ctx, 42)
	_ = names.Set(ctx, "Ada", 42)
	fmt.Println(tiers.Invalidate(ctx, users.All(), names.All()))
	_, user := users.Peek(ctx, 42)
	_, name := names.Peek(ctx, "Ada")
	fmt.Println(user, name)
	// Output:
	// load 42
	// <nil>
	// false false
}
