package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A loader names what its value was made of. Invalidating one of these
// invalidates the value.
func ExampleDepend() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = tiers.Close(ctx) }()
	posts, err := cache.New(tiers, cache.Config[int, string]{
		Namespace: "posts",
		Load: func(ctx context.Context, id int) (string, error) {
			cache.Depend(ctx, fmt.Sprintf("post:%d", id))
			return fmt.Sprintf("post %d", id), nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
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

	_, _ = posts.Get(ctx, 7) // so that the page's read of it is a hit
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
			expires := 20 * time.Minute // as the source says
			cache.Filling(ctx).SetTTL(expires - time.Minute)
			return "token of " + user, nil
		},
	})
	defer done()

	v, err := tokens.Get(ctx, "ada")
	fmt.Println(v, err)
	// Output: token of ada <nil>
}

func ExampleFill_SetTTL() {
	ctx := context.Background()
	prices, done := example(cache.Config[string, int]{
		Load: func(ctx context.Context, _ string) (int, error) {
			fmt.Println("load")
			cache.Filling(ctx).SetTTL(time.Hour) // this value's own, in place of the policy's
			return 100, nil
		},
	})
	defer done()

	_, _ = prices.Get(ctx, "tea")
	_, _ = prices.Get(ctx, "tea")
	// Output: load
}

func ExampleFill_SetStale() {
	ctx := context.Background()
	prices, done := example(cache.Config[string, int]{
		Load: func(ctx context.Context, _ string) (int, error) {
			f := cache.Filling(ctx)
			f.SetTTL(time.Hour)
			f.SetStale(24 * time.Hour) // old prices are better than slow ones, this time
			return 100, nil
		},
	})
	defer done()

	v, err := prices.Get(ctx, "tea")
	fmt.Println(v, err)
	// Output: 100 <nil>
}

func ExampleFill_NoStore() {
	ctx := context.Background()
	prices, done := example(cache.Config[string, int]{
		Load: func(ctx context.Context, _ string) (int, error) {
			fmt.Println("load")
			cache.Filling(ctx).NoStore() // whoever waits gets it; no tier keeps it
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

// A loader that knows what it is replacing can ask its source whether anything
// has changed, and transfer nothing if not.
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

func ExampleError() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	_, err := users.Tenant("acme").Get(ctx, 7)
	if e, ok := errors.AsType[*cache.Error](err); ok {
		fmt.Println(e.Op, e.Key, errors.Is(e, cache.ErrNotFound))
	}
	// Output:
	// load 7
	// get acme:users:v1:7 true
}

// A loader's panic reaches every caller that waits for it, with its stack.
func ExamplePanicError() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load: func(context.Context, int64) (User, error) { panic("no such shard") },
	})
	defer done()

	defer func() {
		p, _ := recover().(*cache.PanicError)
		fmt.Println(p.Value, len(p.Stack) > 0)
	}()
	_, _ = users.Get(ctx, 42)
	// Output: no such shard true
}

// statusError is a source's failure, with a code that means something
// everywhere.
type statusError int

func (e statusError) Error() string     { return fmt.Sprintf("the source answered %d", int(e)) }
func (e statusError) CacheCode() string { return fmt.Sprintf("http-%d", int(e)) }

// The code of a remembered error reaches the processes that did not load.
func ExampleCoder() {
	ctx := context.Background()
	remote := tiertest.NewMemory()
	for range 2 {
		tiers, err := cache.Open(cache.TiersConfig{Remote: remote})
		if err != nil {
			log.Fatal(err)
		}
		users, err := cache.New(tiers, cache.Config[int64, User]{
			Namespace: "users:v1",
			Load:      func(context.Context, int64) (User, error) { return User{}, statusError(503) },
			Policy:    policy.Patch{ErrorTTL: new(10 * time.Second)},
		})
		if err != nil {
			log.Fatal(err)
		}
		_, err = users.Get(ctx, 42)
		fmt.Println(err)
		_ = tiers.Close(ctx)
	}
	// Output:
	// cache: get default:users:v1:42: the source answered 503
	// cache: get default:users:v1:42: cache: load failed a moment ago (http-503)
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
