package cache_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// A loader names the tags of its value. Invalidating one of them invalidates the value.
func ExampleDepend() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	posts := newCache(tiers, cache.Config[int, string]{
		Namespace: "posts",
		Load: func(ctx context.Context, id int) (string, error) {
			cache.Depend(ctx, fmt.Sprintf("post:%d", id))
			return fmt.Sprintf("post %d", id), nil
		},
	})
	pages, err := cache.New(tiers, cache.Config[string, string]{
		Namespace: "pages",
		Load: func(ctx context.Context, name string) (string, error) {
			fmt.Println("render", name)
			post, err := posts.Get(ctx, 7) // the page now depends on post:7 as well
			return name + ": " + post, err
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	_, _ = posts.Get(ctx, 7) // so that the page reads it by a hit
	page, _ := pages.Get(ctx, "home")
	fmt.Println(page)
	fmt.Println(tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, "post:7")))
	_, _ = pages.Get(ctx, "home")
	// Output:
	// render home
	// home: post 7
	// <nil>
	// render home
}

func ExampleFilling() {
	ctx := context.Background()
	tokens, done := example(cache.Config[string, string]{
		Load: func(ctx context.Context, user string) (string, error) {
			expires := 20 * time.Minute // the source says so
			cache.Filling(ctx).SetLifetime(cache.Lifetime{TTL: new(expires - time.Minute)})
			return "token of " + user, nil
		},
	})
	defer done()

	v, err := tokens.Get(ctx, "ada")
	fmt.Println(v, err)
	// Output: token of ada <nil>
}

func ExampleFill_SetLifetime() {
	ctx := context.Background()
	up := true
	prices, done := example(cache.Config[string, int]{
		Load: func(ctx context.Context, _ string) (int, error) {
			if !up {
				return 0, errors.New("the source is down")
			}
			cache.Filling(ctx).SetLifetime(cache.Lifetime{
				TTL:          new(time.Duration),  // call the source each time,
				Stale:        new(time.Duration),  // and wait for it,
				StaleIfError: new(24 * time.Hour), // but an old price is better than none
			})
			return 100, nil
		},
	})
	defer done()

	_, _ = prices.Get(ctx, "tea")
	up = false
	v, err := prices.Get(ctx, "tea")
	fmt.Println(v, err)
	// Output: 100 <nil>
}

func ExampleFill_SetLifetime_keep() {
	ctx := context.Background()
	prices, done := example(cache.Config[string, int]{
		Load: func(ctx context.Context, _ string) (int, error) {
			cache.Filling(ctx).SetLifetime(cache.Lifetime{
				TTL:  new(time.Duration), // never served without a load
				Keep: new(time.Hour),     // kept so that the loader can check whether it changed
			})
			if old, ok := cache.Previous[int](ctx); ok {
				fmt.Println("is it still", old)
				return 0, cache.ErrNotModified
			}
			return 100, nil
		},
	})
	defer done()

	_, _ = prices.Get(ctx, "tea")
	v, err := prices.Get(ctx, "tea")
	fmt.Println(v, err)
	// Output:
	// is it still 100
	// 100 <nil>
}

func ExampleFill_NoStore() {
	ctx := context.Background()
	prices, done := example(cache.Config[string, int]{
		Load: func(ctx context.Context, _ string) (int, error) {
			fmt.Println("load")
			cache.Filling(ctx).NoStore() // the waiting callers get it; no tier keeps it
			return 100, nil
		},
	})
	defer done()

	_, _ = prices.Get(ctx, "tea")
	_, _ = prices.Get(ctx, "tea")
	// Output:
	// load
	// load
}

// A loader declines if the source's answer is not for everybody. Each caller then asks the source for itself.
func ExampleErrDeclined() {
	ctx := context.Background()
	quote := func(item, customer string) (price int, personal bool) { // of the source
		if item == "tea" {
			return 100, false
		}
		return 200 - 10*len(customer), true
	}
	prices, done := example(cache.Config[string, int]{
		Load: func(_ context.Context, item string) (int, error) {
			price, personal := quote(item, "")
			if personal {
				return 0, fmt.Errorf("each customer has another price: %w", cache.ErrDeclined)
			}
			return price, nil
		},
	})
	defer done()
	price := func(item, customer string) int {
		p, err := prices.Get(ctx, item)
		if errors.Is(err, cache.ErrDeclined) {
			p, _ = quote(item, customer)
		}
		return p
	}

	fmt.Println(price("tea", "ada"), price("cake", "ada"), price("cake", "bo"))
	// Output: 100 170 180
}

// A refresh has time, because the call that began it has the old value. This loader leaves the fast connections to the
// loads that callers wait for.
func ExampleFill_InBackground() {
	ctx := context.Background()
	refreshed := make(chan struct{})
	prices, done := example(cache.Config[string, int]{
		Load: func(ctx context.Context, item string) (int, error) {
			if cache.Filling(ctx).InBackground() {
				fmt.Println("load", item, "by a slow connection")
				close(refreshed)
			} else {
				fmt.Println("load", item, "by a fast connection")
			}
			return 100, nil
		},
		Policy: policy.Patch{Stale: new(time.Hour)},
	})
	defer done()

	_, _ = prices.Get(ctx, "tea")
	_ = prices.Expire(ctx, "tea")
	_, _ = prices.Get(ctx, "tea") // the stale value, at once
	<-refreshed
	// Output:
	// load tea by a fast connection
	// load tea by a slow connection
}

// A loader that knows the previous value can ask its source whether the value changed. If not,
// the source transfers nothing.
func ExamplePrevious() {
	type document struct{ ETag, Text string }
	get := func(etag string) (document, bool) { // a GET with If-None-Match
		fmt.Printf("GET, If-None-Match: %q\n", etag)
		return document{"v1", "hello"}, etag != "v1"
	}
	ctx := context.Background()
	documents, done := example(cache.Config[string, document]{
		Load: func(ctx context.Context, _ string) (document, error) {
			old, _ := cache.Previous[document](ctx)
			d, modified := get(old.ETag)
			if !modified {
				return document{}, cache.ErrNotModified
			}
			return d, nil
		},
	})
	defer done()

	_, _ = documents.Get(ctx, "a")
	fmt.Println(documents.Refresh(ctx, "a"))
	d, _ := documents.Get(ctx, "a")
	fmt.Println(d.Text)
	// Output:
	// GET, If-None-Match: ""
	// GET, If-None-Match: "v1"
	// <nil>
	// hello
}

// The loader's signature gives the types. A Loader is a plain function, so a program can wrap it
// in a function of its own, as NotFoundIs does: it turns the database's error for an absence
// into ErrNotFound.
func ExampleFor() {
	var load cache.Loader[int64, string] = func(_ context.Context, id int64) (string, error) {
		if id != 42 {
			return "", fmt.Errorf("user %d: %w", id, sql.ErrNoRows)
		}
		return "Ada", nil
	}
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{})
	defer done()
	users := newCache(tiers, cache.For("users:v1", cache.NotFoundIs(load, sql.ErrNoRows)))
	fmt.Println(users.Get(ctx, 42))
	_, err := users.Get(ctx, 7)
	e, _ := errors.AsType[*cache.Error](err)
	fmt.Println(e.Code(), errors.Is(err, cache.ErrNotFound), errors.Is(err, sql.ErrNoRows))
	// Output:
	// Ada <nil>
	// not_found true true
}

// A request with slices is no key, as Go cannot compare it. Its hash is the key, and the call's
// loader knows the request.
func ExampleCache_GetOrLoad_hashed() {
	type message struct{ Role, Text string }
	type request struct {
		Model    string
		Messages []message
	}
	ctx := context.Background()
	answers, done := example(cache.Config[string, string]{})
	defer done()
	ask := func(ctx context.Context, r request) (string, error) {
		id, err := key.Hash(r) // an error names the field that the hash would miss
		if err != nil {
			return "", err
		}
		return answers.GetOrLoad(ctx, id, func(context.Context, string) (string, error) {
			fmt.Println("ask the model", r.Model)
			return "echo: " + r.Messages[0].Text, nil
		})
	}

	for range 2 {
		fmt.Println(ask(ctx, request{"small", []message{{"user", "hello"}}}))
	}
	// Output:
	// ask the model small
	// echo: hello <nil>
	// echo: hello <nil>
}

// A cache of several tenants has one loader. It asks whose row it loads.
func ExampleFill_Tenant() {
	ctx := context.Background()
	users, done := example(cache.For("", func(ctx context.Context, id int64) (string, error) {
		return fmt.Sprintf("user %d of %s", id, cache.Filling(ctx).Tenant()), nil
	}))
	defer done()

	fmt.Println(users.Tenant("acme").Get(ctx, 42))
	fmt.Println(users.Tenant("globex").Get(ctx, 42))
	// Output:
	// user 42 of acme <nil>
	// user 42 of globex <nil>
}

func ExampleFill_DependOnPrevious() {
	ctx := context.Background()
	log, done := example(cache.Config[string, []string]{
		Load: func(ctx context.Context, user string) ([]string, error) {
			if old, ok := cache.Previous[[]string](ctx); ok {
				cache.Filling(ctx).DependOnPrevious() // the new value contains the old lines
				return append(slices.Clip(old), "signed out"), nil
			}
			cache.Depend(ctx, "user:"+user)
			return []string{"signed in"}, nil
		},
	})
	defer done()

	_, _ = log.Get(ctx, "ada")
	_ = log.Refresh(ctx, "ada")
	lines, err := log.Get(ctx, "ada")
	fmt.Println(lines, err)
	// Output: [signed in signed out] <nil>
}

// A ManyLoader makes one query for all keys. Keys that are not in its map do not exist.
func ExampleCache_GetMany() {
	ctx := context.Background()
	var load cache.ManyLoader[int64, User] = func(_ context.Context, ids []int64) (map[int64]User, error) {
		fmt.Println("SELECT … WHERE id IN", ids)
		return map[int64]User{42: {"Ada", "7"}, 43: {"Charles", "7"}}, nil
	}
	users, done := example(cache.Config[int64, User]{LoadMany: load})
	defer done()

	_, _ = users.Get(ctx, 43)
	found, err := users.GetMany(ctx, []int64{42, 43, 44})
	for _, id := range slices.Sorted(maps.Keys(found)) {
		fmt.Println(id, found[id].Name)
	}
	fmt.Println(err) // 44 does not exist; this is no failure
	// Output:
	// SELECT … WHERE id IN [43]
	// SELECT … WHERE id IN [42 44]
	// 42 Ada
	// 43 Charles
	// <nil>
}

// A LoadMany can return a value, an absence or an error for each key. If it returns another error, the
// keys that are not in its map have failed. The BatchError names them, and the map has the others.
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
