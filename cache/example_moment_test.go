package cache_test

import (
	"context"
	"fmt"

	"github.com/twofold-go/twofold/cache"
)

// A request that reads many keys reads the clock once.
func ExampleCache_At() {
	ctx := context.Background()
	tiers, err := cache.Open(cache.TiersConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = tiers.Close(ctx) }()
	squares, err := cache.New(tiers, cache.For("squares:v1", func(_ context.Context, n int) (int, error) { return n * n, nil }))
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := func(r cache.Reader[int, int]) (sum int) {
		for n := range 4 {
			v, _ := r.Get(ctx, n)
			sum += v
		}
		return sum
	}
	serve := func(m cache.Moment) { fmt.Println(sum(squares.At(m))) }
	serve(cache.Now()) // when the request begins
	// Output: 14
}
