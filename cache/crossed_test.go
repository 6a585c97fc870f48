package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// ring is a set of keys. The loader of each key waits until all have begun, then reads the next
// key.
type ring struct {
	size   int  // the loader of the last key reads the first
	batch  bool // read by GetMany
	remote bool
	values things
	others cache.Cache[string, string] // has the odd keys when split is set
	split  bool
}

func (r *ring) read(ctx context.Context, k int) (string, error) {
	switch {
	case r.split && k%2 == 1:
		return r.others.Get(ctx, fmt.Sprint("k", k))
	case r.batch:
		m, err := r.values.GetMany(ctx, []int{k, 1000 + k})
		return m[k], err
	}
	return r.values.Get(ctx, k)
}

func (r *ring) load(ctx context.Context, k int) (string, error) {
	if k >= 1000 {
		return "alone", nil
	}
	if err := nap(ctx, 10*time.Millisecond); err != nil {
		return "", err
	}
	v, err := r.read(ctx, (k+1)%r.size)
	return fmt.Sprint(k, ">", v), err
}

func (r *ring) open(t *testing.T) {
	tc := cache.TiersConfig{}
	if r.remote {
		tc.Remote = tiertest.NewMemory()
	}
	tiers := open(t, tc)
	cfg := thingConfig{Load: r.load, Policy: patch{LoadTimeout: new(20 * time.Second)}}
	if r.batch {
		cfg.LoadMany = func(ctx context.Context, keys []int) (map[int]string, error) {
			m := map[int]string{}
			var errs []error
			for _, k := range keys {
				v, err := r.load(ctx, k)
				if err == nil {
					m[k] = v
				}
				errs = append(errs, err)
			}
			return m, errors.Join(errs...)
		}
	}
	r.values = with(t, tiers, cfg)
	r.others = with(t, tiers, cache.Config[string, string]{
		Namespace: "others", Policy: cfg.Policy,
		Load: func(ctx context.Context, s string) (string, error) {
			var k int
			if _, err := fmt.Sscanf(s, "k%d", &k); err != nil {
				return "", err
			}
			return r.load(ctx, k)
		},
	})
}

// Loads that wait for each other in a circle would wait until LoadTimeout, whichever caller
// began them. The load that closes the circle gets ErrRecursive at once.
func TestCrossedLoads(t *testing.T) {
	for name, r := range map[string]ring{
		"two":                     {size: 2},
		"two, a remote tier":      {size: 2, remote: true},
		"three":                   {size: 3},
		"ten":                     {size: 10},
		"two, batches":            {size: 2, batch: true},
		"two, batches and remote": {size: 2, batch: true, remote: true},
		"two, of two caches":      {size: 2, split: true},
		"four, of two caches":     {size: 4, split: true, remote: true},
	} {
		bubble(t, name, func(t *testing.T) {
			r.open(t)
			start := time.Now()
			crowd(r.size, func(k int) {
				if _, err := r.read(t.Context(), k); !errors.Is(err, cache.ErrRecursive) {
					t.Errorf("the caller of %d gets %v, want ErrRecursive", k, err)
				}
			})
			if d := time.Since(start); d > time.Second {
				t.Errorf("the callers waited %v, want at most 1s: the loads wait for each other", d)
			}
		})
	}
}

// A loader may handle ErrRecursive and return a value. Then every caller gets an answer.
func TestCrossedLoadsThatGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c things
		var recursive atomic.Int64
		c = with(t, open(t, cache.TiersConfig{MaxLoads: 1000}), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
			if err := nap(ctx, 10*time.Millisecond); err != nil {
				return "", err
			}
			v, err := c.Get(ctx, 1-k)
			if errors.Is(err, cache.ErrRecursive) {
				recursive.Add(1)
				return fmt.Sprint(k), nil
			}
			return fmt.Sprint(k, ">", v), err
		}})
		start := time.Now()
		crowd(2, func(k int) {
			if v := get(t, c, k); v != fmt.Sprint(k) && v != fmt.Sprint(k, ">", 1-k) {
				t.Errorf("Get(%d) = %q", k, v)
			}
		})
		if d := time.Since(start); d > time.Second || recursive.Load() != 1 {
			t.Errorf("%d loads got ErrRecursive, and the callers waited %v; want 1 load, at once", recursive.Load(), d)
		}
	})
}

// Loads that wait for each other without a circle are not refused. The test has a chain, a
// diamond, and callers that are not loads.
func TestNotCrossed(t *testing.T) {
	for _, batch := range []bool{false, true} {
		bubble(t, fmt.Sprint("batch=", batch), func(t *testing.T) {
			needs := map[int][]int{0: {1, 2}, 1: {3}, 2: {3, 4}, 3: {5}, 4: {5}, 5: nil}
			var c things
			c = with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
				if err := nap(ctx, 10*time.Millisecond); err != nil {
					return "", err
				}
				if batch {
					_, err := c.GetMany(ctx, needs[k])
					return fmt.Sprint(k), err
				}
				for _, n := range needs[k] {
					if _, err := c.Get(ctx, n); err != nil {
						return "", err
					}
				}
				return fmt.Sprint(k), nil
			}})
			crowd(60, func(i int) { get(t, c, i%6) })
		})
	}
}

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
