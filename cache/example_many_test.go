package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twofold-go/twofold/cache"
)

func ExampleCache_GetMany() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		LoadMany: func(_ context.Context, ids []int64) (map[int64]User, error) {
			fmt.Println("load", ids)
			return map[int64]User{42: {"Ada", "7"}, 43: {"Charles", "7"}}, nil
		},
	})
	defer done()

	_, _ = users.Get(ctx, 43)
	found, err := users.GetMany(ctx, []int64{42, 43, 44})
	for _, id := range slices.Sorted(maps.Keys(found)) {
		fmt.Println(id, found[id].Name)
	}
	fmt.Println(err) // 44 does not exist; that is no failure
	// Output:
	// load [43]
	// load [42 44]
	// 42 Ada
	// 43 Charles
	// <nil>
}

// Keys that failed are named; the others are there.
func ExampleBatchError() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		LoadMany: func(context.Context, []int64) (map[int64]User, error) {
			return map[int64]User{42: {"Ada", "7"}}, errors.New("shard 2 is down")
		},
	})
	defer done()

	found, err := users.GetMany(ctx, []int64{42, 43})
	fmt.Println(found[42].Name)
	if failed, ok := errors.AsType[*cache.BatchError[int64]](err); ok {
		fmt.Println(failed.Errs[43])
	}
	// Output:
	// Ada
	// cache: get many default:users:v1:43: shard 2 is down
}

// A LoadMany can say of each key what became of it: a value, an absence, an error.
func ExampleKeyErrors() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		LoadMany: func(context.Context, []int64) (map[int64]User, error) {
			failed := map[int64]error{43: errors.New("shard 3 is down")}
			return map[int64]User{42: {"Ada", "7"}}, cache.KeyErrors(failed) // 44 does not exist
		},
	})
	defer done()

	found, err := users.GetMany(ctx, []int64{42, 43, 44})
	fmt.Println(found[42].Name, len(found))
	if failed, ok := errors.AsType[*cache.BatchError[int64]](err); ok {
		for id, err := range failed.Errs {
			fmt.Println(id, err)
		}
	}
	// Output:
	// Ada 1
	// 43 cache: get many default:users:v1:43: shard 3 is down
}
