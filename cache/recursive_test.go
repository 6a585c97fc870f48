package cache_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A loader may write to the key that it loads. Only a read of that key would wait for itself.
func TestWriteInsideOwnLoader(t *testing.T) {
	for _, tt := range []struct {
		name   string
		write  func(ctx context.Context, c things, k int) error
		want   fetched // the result of the read that loads
		stored bool    // the next read is a hit
	}{
		{
			"Delete", func(ctx context.Context, c things, k int) error { return c.Delete(ctx, k) },
			fetched{"v3", cache.Load, false, nil}, false,
		},
		{
			"Set", func(ctx context.Context, c things, k int) error { return c.Set(ctx, k, "set") },
			fetched{"set", cache.Local, false, nil}, true,
		},
		{
			// The loaded value is stale from the start, and this policy serves no stale values.
			"Expire", func(ctx context.Context, c things, k int) error { return c.Expire(ctx, k) },
			fetched{"v1", cache.Load, false, nil}, false,
		},
	} {
		for _, remote := range []tier.Remote{nil, tiertest.NewMemory()} {
			for _, batch := range []bool{false, true} {
				bubble(t, fmt.Sprintf("%s, remote=%v, batch=%v", tt.name, remote != nil, batch), func(t *testing.T) {
					var c things
					var loads atomic.Int64
					load := func(ctx context.Context, k int) (string, error) {
						n := loads.Add(1)
						succeeds(t, tt.write(ctx, c, k))
						return fmt.Sprint("v", n), nil
					}
					key := 1
					cfg := thingConfig{Load: load}
					if batch {
						key = 2
						cfg.LoadMany = func(ctx context.Context, keys []int) (map[int]string, error) {
							v, err := load(ctx, keys[0])
							return map[int]string{keys[0]: v}, err
						}
					}
					c = with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
					if !batch {
						wantFetch(t, c, key, tt.want)
					} else if m, err := c.GetMany(t.Context(), []int{key}); m[key] != tt.want.Value || err != nil {
						t.Errorf("GetMany(%d) = %v, %v, want %q", key, m, err, tt.want.Value)
					}
					n := loads.Load()
					if get(t, c, key); loads.Load() == n != tt.stored {
						t.Errorf("the next read is a hit: %v, want %v", !tt.stored, tt.stored)
					}
				})
			}
		}
	}
}
