package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/redistest"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/redistier"
)

// BenchmarkFillRemoteHit measures a remote hit. Its floor is a GET with the plain client,
// decoded with the same codec. It runs with 1 caller and with 64, on one server.
func BenchmarkFillRemoteHit(b *testing.B) {
	const n = 1000
	rdb := redistest.Start(b).Client()
	prefix, plain := redistest.Prefix(), redistest.Prefix()
	c := newBench(b, openBench(b, cache.TiersConfig{
		Local:  nothing{local.New(local.Config{})},
		Remote: redistier.New(rdb, redistier.Config{Prefix: prefix}),
	}), func(_ context.Context, id int64) (profile, error) { return profileOf(id), nil })
	for id := range int64(n) {
		raw, err := codec.JSON.Marshal(profileOf(id))
		if err == nil {
			err = rdb.Set(b.Context(), plain+strconv.FormatInt(id, 10), raw, 0).Err()
		}
		if err == nil {
			_, err = c.Get(b.Context(), id)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	viaCache := func(ctx context.Context, id int64) (profile, error) {
		r, err := c.Fetch(ctx, id, nil)
		if err == nil && r.Source != cache.Remote {
			err = fmt.Errorf("the value comes from %v", r.Source)
		}
		return r.Value, err
	}
	byHand := func(ctx context.Context, id int64) (p profile, err error) {
		raw, err := rdb.Get(ctx, plain+strconv.FormatInt(id, 10)).Bytes()
		if err == nil {
			err = codec.JSON.Unmarshal(raw, &p)
		}
		return p, err
	}
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d/twofold", callers), func(b *testing.B) { benchCallers(b, callers, n, viaCache) })
		b.Run(fmt.Sprintf("callers=%d/floor", callers), func(b *testing.B) { benchCallers(b, callers, n, byHand) })
	}
}

// benchCallers calls get for the keys below n, from that many goroutines.
func benchCallers(b *testing.B, callers, n int, get func(context.Context, int64) (profile, error)) {
	b.ReportAllocs()
	var next atomic.Int64
	one := func() {
		id := next.Add(1) % int64(n)
		if p, err := get(b.Context(), id); err != nil || p.ID != id {
			b.Error(p, err)
		}
	}
	if callers == 1 {
		for b.Loop() {
			one()
		}
		return
	}
	b.SetParallelism(max(1, callers/runtime.GOMAXPROCS(0)))
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			one()
		}
	})
}

// BenchmarkFillLocalMiss measures the first read of a key with a local tier alone and a loader
// that returns at once. Its floor is a direct call of the loader.
func BenchmarkFillLocalMiss(b *testing.B) {
	load := func(_ context.Context, id int64) (profile, error) { return profileOf(id), nil }
	b.Run("twofold", func(b *testing.B) {
		c := newBench(b, openBench(b, cache.TiersConfig{}), load)
		benchNewKeys(b, c.Get)
	})
	b.Run("floor", func(b *testing.B) { benchNewKeys(b, load) })
}

func benchNewKeys(b *testing.B, get func(context.Context, int64) (profile, error)) {
	ctx := b.Context()
	b.ReportAllocs()
	for id := int64(0); b.Loop(); id++ {
		if p, err := get(ctx, id); err != nil || p.ID != id {
			b.Fatal(p, err)
		}
	}
}
