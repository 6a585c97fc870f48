package main

import (
	"context"

	"github.com/twofold-go/twofold/cache"
)

func main() {
	t, _ := cache.Open(cache.TiersConfig{})
	use0(context.Background(), t)
}

type K0 struct{ A, F0 int }

type V0 struct{ B, F0 string }

func use0(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K0, V0]{Namespace: "n0"})
	k := K0{}
	c.Get(ctx, k)
}
