package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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

// A load error may be remembered, so that reads do not keep calling a broken source. Other
// processes learn only the error's code.
func ExampleCoder() {
	ctx := context.Background()
	remote := tiertest.NewMemory()
	for range 2 {
		tiers, done := openTiers(cache.TiersConfig{Remote: remote})
		users := newCache(tiers, cache.Config[int64, User]{
			Load: func(context.Context, int64) (User, error) {
				fmt.Println("load")
				return User{}, statusError(503)
			},
			Policy: policy.Patch{ErrorTTL: new(10 * time.Second)},
		})
		_, err := users.Get(ctx, 42)
		fmt.Println(err)
		_, err = users.Get(ctx, 42)
		if e, ok := errors.AsType[*cache.RememberedError](err); ok {
			fmt.Println(e.Code, "·", e.Err)
		}
		done()
	}
	// Output:
	// load
	// cache: get default:users:v1:42: the source answered 503
	// http-503 · the source answered 503
	// cache: get default:users:v1:42: cache: load failed a moment ago (http-503)
	// http-503 · <nil>
}

// Beyond MaxFlights a read that misses fails at once. Hits still succeed.
func Example_overloaded() {
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{MaxFlights: 1})
	defer done()
	loading, end := make(chan struct{}), make(chan struct{})
	users := newCache(tiers, cache.For("users:v1", func(context.Context, int64) (User, error) {
		close(loading)
		<-end
		return User{Name: "Ada"}, nil
	}))

	go func() { _, _ = users.Get(ctx, 42) }()
	<-loading
	_, err := users.Get(ctx, 43)
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

// While the log is unreachable, an invalidation applies in this process. It waits until it can
// be sent to the others.
func Example_outage() {
	ctx := context.Background()
	link := logtest.NewFaulty(logtest.NewMemory(logtest.MemoryConfig{})) // redislog.New(rdb, …) in production
	tiers, done := openTiers(cache.TiersConfig{
		Log:            link,
		InvalidateWait: 10 * time.Millisecond,
		Logger:         slog.New(slog.DiscardHandler),
	})
	defer done()
	users := newCache(tiers, cache.Config[int64, User]{Load: loadUser})
	fmt.Println("ready:", tiers.Ready(ctx)) // before the first request is served

	_, _ = users.Get(ctx, 42)
	link.Fail(errors.New("connection refused"))
	err := users.Delete(ctx, 42)
	fmt.Println(errors.Is(err, cache.ErrUnavailable))
	if pending, ok := errors.AsType[*invalidate.PendingError](err); ok {
		fmt.Println("scopes that wait:", pending.Pending)
	}
	_, _ = users.Get(ctx, 42) // deleted in this process, even without the log
	s := tiers.Stats().Log
	fmt.Println("scopes that wait:", s.Pending, "for some time:", s.PendingAge > 0)

	link.Heal()
	fmt.Println("ready:", tiers.Ready(ctx))
	// Output:
	// ready: <nil>
	// load 42
	// true
	// scopes that wait: 1
	// load 42
	// scopes that wait: 1 for some time: true
	// ready: <nil>
}
