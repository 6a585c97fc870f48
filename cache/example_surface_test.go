package cache_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/twofold-go/twofold/cache"
)

// A loader says the types; what its database says of absence becomes ErrNotFound.
func ExampleFor() {
	load := func(_ context.Context, id int64) (string, error) {
		if id != 42 {
			return "", fmt.Errorf("user %d: %w", id, sql.ErrNoRows)
		}
		return "Ada", nil
	}
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		panic(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	users, err := cache.New(tiers, cache.For("users:v1", cache.NotFoundIs(load, sql.ErrNoRows)))
	if err != nil {
		panic(err)
	}
	fmt.Println(users.Get(ctx, 42))
	_, err = users.Get(ctx, 7)
	e, _ := errors.AsType[*cache.Error](err)
	fmt.Println(e.Code(), errors.Is(err, cache.ErrNotFound), errors.Is(err, sql.ErrNoRows))
	// Output:
	// Ada <nil>
	// not_found true true
}

// Scopes are taken from the handle, which knows its tenant and namespace.
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
