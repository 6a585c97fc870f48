package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/key"
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
	fmt.Println(err) // 44 does not exist; this is no failure
	// Output:
	// load [43]
	// load [42 44]
	// 42 Ada
	// 43 Charles
	// <nil>
}

// The error names the keys that failed. The map has the others.
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

// A LoadMany can return a value, an absence or an error for each key.
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

// A nightly import writes what it read. The error names the keys that failed.
func ExampleCache_SetMany() {
	ctx := context.Background()
	capitals, done := example(cache.Config[string, string]{})
	defer done()

	err := capitals.SetMany(ctx, map[string]string{"fr": "Paris", "it": "Rome", "": "?"})
	if failed, ok := errors.AsType[*cache.BatchError[string]](err); ok {
		for code, err := range failed.Errs {
			fmt.Printf("%q %v\n", code, errors.Is(err, key.ErrEmpty))
		}
	}
	v, ok := capitals.Peek(ctx, "it")
	fmt.Println(v, ok)
	// Output:
	// "" true
	// Rome true
}

// DeleteMany invalidates some users and the list that shows them in one step.
func ExampleCache_DeleteMany() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	_, _ = users.GetMany(ctx, []int64{42, 43})
	fmt.Println(users.DeleteMany(ctx, []int64{42, 43}, users.Tag("user-list")))
	_, ok := users.Peek(ctx, 43)
	fmt.Println(ok)
	// Unordered output:
	// load 42
	// load 43
	// <nil>
	// false
}

// A LoadMany makes one query for all keys. Keys that are not in its map do not exist.
func ExampleManyLoader() {
	ctx := context.Background()
	var load cache.ManyLoader[int64, User] = func(_ context.Context, ids []int64) (map[int64]User, error) {
		fmt.Println("SELECT … WHERE id IN", ids)
		return map[int64]User{42: {"Ada", "7"}}, nil
	}
	users, done := example(cache.Config[int64, User]{LoadMany: load})
	defer done()

	found, err := users.GetMany(ctx, []int64{42, 7})
	fmt.Println(len(found), err)
	// Output:
	// SELECT … WHERE id IN [42 7]
	// 1 <nil>
}
