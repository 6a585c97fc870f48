package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// Beyond MaxFlights a read that misses fails at once. Hits still succeed.
func Example_overloaded() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{MaxFlights: 1})
	if err != nil {
		panic(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	loading, end := make(chan struct{}), make(chan struct{})
	users, err := cache.New(tiers, cache.For("users:v1", func(context.Context, int64) (User, error) {
		close(loading)
		<-end
		return User{Name: "Ada"}, nil
	}))
	if err != nil {
		panic(err)
	}

	go func() { _, _ = users.Get(ctx, 42) }()
	<-loading
	_, err = users.Get(ctx, 43)
	fmt.Println(errors.Is(err, cache.ErrOverloaded))
	close(end)
	// Output: true
}

// A loader that is too slow fails for every caller that waits. Error.Code distinguishes this
// from a caller's own deadline.
func Example_loadTimeout() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load: func(ctx context.Context, _ int64) (User, error) {
			<-ctx.Done() // a database that does not answer
			return User{}, ctx.Err()
		},
		Policy: policy.Patch{LoadTimeout: new(10 * time.Millisecond)},
	})
	defer done()

	_, err := users.Get(ctx, 42)
	e, _ := errors.AsType[*cache.Error](err)
	fmt.Println(errors.Is(err, cache.ErrLoadTimeout), e.Code())

	ctx, cancel := context.WithCancel(ctx)
	cancel()
	_, err = users.Get(ctx, 42)
	e, _ = errors.AsType[*cache.Error](err)
	fmt.Println(errors.Is(err, cache.ErrLoadTimeout), e.Code())
	// Output:
	// true load_timeout
	// false canceled
}

// A refused value is not kept in any tier, and the old value is invalidated.
func Example_refused() {
	ctx := context.Background()
	texts, done := example(cache.Config[int64, string]{
		Policy: policy.Patch{MaxValueBytes: new(1000)},
	})
	defer done()

	err := texts.Set(ctx, 1, strings.Repeat("x", 1001))
	fmt.Println(errors.Is(err, cache.ErrTooLarge))
	// Output: true
}

// Two mistakes in loaders become errors instead of hanging the program.
func Example_loaderMistakes() {
	ctx := context.Background()
	var users cache.Cache[int64, User]
	users, done := example(cache.Config[int64, User]{
		Load: func(ctx context.Context, id int64) (User, error) {
			if id == 1 {
				runtime.Goexit() // as t.FailNow in package testing does
			}
			return users.Get(ctx, id) // it waits for itself
		},
	})
	defer done()

	_, err := users.Get(ctx, 1)
	fmt.Println(errors.Is(err, cache.ErrGoexit))
	_, err = users.Get(ctx, 2)
	fmt.Println(errors.Is(err, cache.ErrRecursive))
	// Output:
	// true
	// true
}
