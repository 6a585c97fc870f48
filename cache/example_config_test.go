package cache_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	metric "go.opentelemetry.io/otel/metric/noop"
	trace "go.opentelemetry.io/otel/trace/noop"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Callers share values and must not change them, unless Clone tells the cache how to copy them.
func ExampleConfig_clone() {
	ctx := context.Background()
	lists, done := example(cache.Config[string, []string]{
		Load:  func(context.Context, string) ([]string, error) { return []string{"a", "b"}, nil },
		Clone: slices.Clone[[]string],
	})
	defer done()

	mine, _ := lists.Get(ctx, "letters")
	mine[0] = "changed"
	yours, _ := lists.Get(ctx, "letters")
	fmt.Println(yours)
	// Output: [a b]
}

// rendered is a value that no codec can restore.
type rendered struct {
	Title  string
	Render func() string
}

// Each process makes its own reports. A report holds a function, so the remote tier cannot store
// it.
func ExampleConfig_localOnly() {
	load := func(_ context.Context, id int) (rendered, error) {
		title := fmt.Sprint("report ", id)
		return rendered{title, func() string { return "<h1>" + title + "</h1>" }}, nil
	}
	ctx := context.Background()
	tiers, done := openTiers(cache.TiersConfig{Remote: tiertest.NewMemory()})
	defer done()

	cfg := cache.For("reports", load)
	_, err := cache.New(tiers, cfg)
	fmt.Println(errors.Is(err, codec.ErrType))
	cfg.LocalOnly = true
	reports := newCache(tiers, cfg)
	r, err := reports.Get(ctx, 7)
	fmt.Println(r.Render(), err)
	// Output:
	// true
	// <h1>report 7</h1> <nil>
}

// The second version of a program uses the same type with another meaning. It must not read what
// the first version stored.
func ExampleConfig_schema() {
	ctx := context.Background()
	remote := tiertest.NewMemory()
	for _, unit := range []string{"metres", "feet"} {
		tiers, done := openTiers(cache.TiersConfig{Remote: remote})
		heights := newCache(tiers, cache.Config[string, float64]{
			Namespace: "heights",
			Load:      func(context.Context, string) (float64, error) { return 4810, nil },
			Schema:    unit,
			Size:      func(float64) int64 { return 8 },
		})
		r, err := heights.Fetch(ctx, "Mont Blanc", nil)
		fmt.Println(unit, "from", r.Source, err)
		done()
	}
	// Output:
	// metres from load <nil>
	// feet from load <nil>
}

// versioned is a codec with its own ID.
type versioned struct{ codec.Codec }

func (versioned) ID() string { return "json-2" }

// These are the limits of a process that serves many tenants. Next month its caches will write
// with another codec, so it already registers that codec for reading.
func ExampleTiersConfig() {
	tiers, err := cache.Open(cache.TiersConfig{
		MaxLoads:       64,     // the database can take these
		MaxRefreshes:   8,      // part of MaxLoads
		MaxFlights:     10_000, // reads that wait, per cache
		MaxTenants:     200,    // tenants with their own counters
		Codecs:         []codec.Codec{versioned{codec.JSON}},
		MeterProvider:  metric.NewMeterProvider(),
		TracerProvider: trace.NewTracerProvider(),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(tiers.Close(context.Background()))
	// Output: <nil>
}

// An empty list is remembered as briefly as an absence, and returned as a list.
func ExampleConfig_empty() {
	ctx := context.Background()
	orders, done := example(cache.Config[int64, []string]{
		Load: func(_ context.Context, user int64) ([]string, error) {
			fmt.Println("load the orders of", user)
			return []string{}, nil
		},
		Empty:  func(orders []string) bool { return len(orders) == 0 },
		Policy: policy.Patch{TTL: new(time.Hour), NegativeTTL: new(time.Second)},
	})
	defer done()

	for range 2 {
		r, err := orders.Fetch(ctx, 42, nil)
		fmt.Println(len(r.Value), r.Source, r.Negative, err)
	}
	// Output:
	// load the orders of 42
	// 0 load false <nil>
	// 0 local false <nil>
}

// A call may bring a policy of its own. Keep the Option, because its first use in a cache allocates.
func ExampleWith() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	night := cache.With(policy.Patch{TTL: new(8 * time.Hour), StaleIfError: new(24 * time.Hour)})
	u, err := users.GetOrLoad(ctx, 42, loadUser, night)
	fmt.Println(u.Name, err)

	_, err = users.Fetch(ctx, 42, nil, cache.With(policy.Patch{TTL: new(-time.Second)}))
	fault, ok := errors.AsType[*policy.FieldError](err)
	fmt.Println(errors.Is(err, cache.ErrOption), ok, fault)
	// Output:
	// load 42
	// Ada <nil>
	// true true policy: TTL: -1s is negative; want a duration of 0 or more
}

// A caller that knows of a change can ask for a value that is no older.
func ExampleMaxAge() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	_, _ = users.Get(ctx, 42)
	_, _ = users.Fetch(ctx, 42, nil, cache.MaxAge(time.Hour)) // a cached value is fine
	_, _ = users.Fetch(ctx, 42, nil, cache.MaxAge(0))         // only a load that begins now is
	// Output:
	// load 42
	// load 42
}

func ExampleFresh() {
	ctx := context.Background()
	users, done := example(cache.Config[int64, User]{
		Load:   loadUser,
		Policy: policy.Patch{Stale: new(time.Hour)},
	})
	defer done()

	_, _ = users.Get(ctx, 42)
	_ = users.Expire(ctx, 42)
	r, err := users.Fetch(ctx, 42, nil, cache.Fresh()) // waits for the load
	fmt.Println(r.Value.Name, "from", r.Source, "stale", r.Stale, err)
	// Output:
	// load 42
	// load 42
	// Ada from load stale false <nil>
}

// A call may skip a tier: SkipRemote for a value that only this process should keep, SkipLocal for one
// that is read once and should not evict others. Options are values: store them and pass them on.
func ExampleSkipLocal() {
	ctx := context.Background()
	users, done := exampleUsers()
	defer done()

	scan := []cache.Option{cache.SkipLocal(), cache.SkipRemote()} // shares loads, keeps nothing
	_, _ = users.GetOrLoad(ctx, 42, nil, scan...)
	r, err := users.Fetch(ctx, 42, nil, cache.SkipRemote()) // kept only in this process
	fmt.Println(r.Source, err)
	r, err = users.Fetch(ctx, 42, nil)
	fmt.Println(r.Source, err)
	err = users.Set(ctx, 42, User{Name: "Ada"}, cache.MaxAge(time.Second))
	fmt.Println(errors.Is(err, cache.ErrOption))
	// Output:
	// load 42
	// load 42
	// load <nil>
	// local <nil>
	// true
}
