package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A load error may be remembered, so that reads do not keep calling a broken source. Other
// processes learn only the error's code.
func ExampleRememberedError() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load: func(context.Context, int64) (User, error) {
			fmt.Println("load")
			return User{}, errors.New("too many connections")
		},
		Policy: policy.Patch{ErrorTTL: new(10 * time.Second)},
	})
	defer done()

	_, _ = users.Get(ctx, 42)
	_, err := users.Get(ctx, 42)
	if e, ok := errors.AsType[*cache.RememberedError](err); ok {
		fmt.Println(e.Code, "·", e.Err)
	}
	// Output:
	// load
	// error · too many connections
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

// statusError is an error of a source. Its code means the same in every process.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("the source answered %d", int(e)) }

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
