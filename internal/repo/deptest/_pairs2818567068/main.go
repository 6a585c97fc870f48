package main

import (
	"context"

	"github.com/twofold-go/twofold/cache"
)

func main() {
	t, _ := cache.Open(cache.TiersConfig{})
	use0(context.Background(), t)
	use1(context.Background(), t)
	use2(context.Background(), t)
	use3(context.Background(), t)
	use4(context.Background(), t)
	use5(context.Background(), t)
	use6(context.Background(), t)
	use7(context.Background(), t)
	use8(context.Background(), t)
	use9(context.Background(), t)
	use10(context.Background(), t)
}

type K0 struct{ A, F0 int }

type V0 struct{ B, F0 string }

func use0(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K0, V0]{Namespace: "n0"})
	k := K0{}
	c.Get(ctx, k)
}

type K1 struct{ A, F1 int }

type V1 struct{ B, F1 string }

func use1(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K1, V1]{Namespace: "n1"})
	k := K1{}
	c.Get(ctx, k)
}

type K2 struct{ A, F2 int }

type V2 struct{ B, F2 string }

func use2(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K2, V2]{Namespace: "n2"})
	k := K2{}
	c.Get(ctx, k)
}

type K3 struct{ A, F3 int }

type V3 struct{ B, F3 string }

func use3(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K3, V3]{Namespace: "n3"})
	k := K3{}
	c.Get(ctx, k)
}

type K4 struct{ A, F4 int }

type V4 struct{ B, F4 string }

func use4(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K4, V4]{Namespace: "n4"})
	k := K4{}
	c.Get(ctx, k)
}

type K5 struct{ A, F5 int }

type V5 struct{ B, F5 string }

func use5(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K5, V5]{Namespace: "n5"})
	k := K5{}
	c.Get(ctx, k)
}

type K6 struct{ A, F6 int }

type V6 struct{ B, F6 string }

func use6(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K6, V6]{Namespace: "n6"})
	k := K6{}
	c.Get(ctx, k)
}

type K7 struct{ A, F7 int }

type V7 struct{ B, F7 string }

func use7(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K7, V7]{Namespace: "n7"})
	k := K7{}
	c.Get(ctx, k)
}

type K8 struct{ A, F8 int }

type V8 struct{ B, F8 string }

func use8(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K8, V8]{Namespace: "n8"})
	k := K8{}
	c.Get(ctx, k)
}

type K9 struct{ A, F9 int }

type V9 struct{ B, F9 string }

func use9(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K9, V9]{Namespace: "n9"})
	k := K9{}
	c.Get(ctx, k)
}

type K10 struct{ A, F10 int }

type V10 struct{ B, F10 string }

func use10(ctx context.Context, t *cache.Tiers) {
	c, _ := cache.New(t, cache.Config[K10, V10]{Namespace: "n10"})
	k := K10{}
	c.Get(ctx, k)
}
