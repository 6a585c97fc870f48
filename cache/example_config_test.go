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
