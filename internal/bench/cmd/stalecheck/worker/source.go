package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// Value is what the cache holds: which version of which key.
type Value struct {
	Key     string
	Version int64
}

// cacheConfig has everything switched on that may serve a value that is not
// fresh: none of it may serve one that was invalidated. Even workers load in
// batches.
func (w *worker) cacheConfig() cache.Config[string, Value] {
	cfg := cache.Config[string, Value]{
		Namespace: namespace,
		Load:      w.load,
		Tags: func(k string, _ Value) []string {
			i, _ := number(k)
			return []string{w.keys.tag(i), "all"}
		},
		Policy: policy.Patch{
			Stale:        new(30 * time.Second),
			StaleIfError: new(30 * time.Second),
			SoftTimeout:  new(200 * time.Millisecond),
			RefreshAhead: new(1.0),
		},
	}
	if w.cfg.Proc%2 == 0 {
		cfg.LoadMany = w.loadMany
	}
	return cfg
}

func (w *worker) load(ctx context.Context, k string) (Value, error) {
	m, err := w.loadMany(ctx, []string{k})
	return m[k], err
}

// loadMany reads the source first and sleeps afterwards, now and then, with a
// value in its hands that grows old. It does not listen to its context
// meanwhile, as loaders do.
func (w *worker) loadMany(ctx context.Context, ks []string) (map[string]Value, error) {
	names := make([]string, len(ks))
	for i, k := range ks {
		names[i] = sourceKey(k)
	}
	got, err := w.source.MGet(ctx, names...).Result()
	if err != nil {
		return nil, fmt.Errorf("source: %w", err)
	}
	w.loads.Add(int64(len(ks)))
	m := make(map[string]Value, len(ks))
	for i, k := range ks {
		v := Value{Key: k}
		if s, ok := got[i].(string); ok {
			if _, err := fmt.Sscan(s, &v.Version); err != nil {
				return nil, fmt.Errorf("source: %w", err)
			}
		}
		m[k] = v
	}
	if rand.Float64() < w.cfg.SlowLoads {
		w.slow.Add(1)
		time.Sleep(300*time.Millisecond + rand.N(1500*time.Millisecond))
	}
	return m, nil
}

func sourceKey(name string) string { return "version:" + name }

// raise writes the source: a new version of each key.
func (w *worker) raise(ctx context.Context, keys []int) ([]int64, error) {
	cmds := make([]*redis.IntCmd, len(keys))
	_, err := w.source.TxPipelined(ctx, func(p redis.Pipeliner) error {
		for i, k := range keys {
			cmds[i] = p.Incr(ctx, sourceKey(Name(k)))
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(errors.New("source"), err)
	}
	versions := make([]int64, len(keys))
	for i, c := range cmds {
		versions[i] = c.Val()
	}
	return versions, nil
}
