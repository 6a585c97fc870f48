package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
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
		cfg.LoadMany = ofEach(r.load)
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

// A loader may write to the key that it loads. Only a read of that key would wait for itself. A value
// that it expires is stale from the start, and this policy serves no stale values.
func TestWriteInsideOwnLoader(t *testing.T) {
	for write, reads := range map[string]string{
		"deletes": "a gets 1.3 load; a gets any load", "sets set": "a gets set local; a gets set local", "expires": "a gets 1.1 load; a gets 1.2 load",
	} {
		for _, many := range []bool{false, true} {
			play(t, scene{name: fmt.Sprint(write, ", LoadMany ", many), on: "alone paired", many: many, steps: "during 99 a " + write + "; " + reads})
		}
	}
}

// A goroutine that a loader has started may keep the loader's context after the load has ended. Its
// reads are then no part of that load: none is recursive, and their loads take their own turns.
func TestContextOfALoadThatHasEnded(t *testing.T) {
	for _, many := range []bool{false, true} {
		bubble(t, fmt.Sprint("LoadMany=", many), func(t *testing.T) {
			var kept context.Context
			src := &source{took: time.Second}
			cfg := loading(func(ctx context.Context, k int) (string, error) {
				if k == 1 && kept == nil {
					kept = context.WithoutCancel(ctx)
				}
				return src.load(ctx, k)
			}, many)
			cfg.MaxBatch = 1
			c := with(t, open(t, cache.TiersConfig{MaxLoads: 2}), cfg)
			get(t, c, 1)
			must(t, c.Delete(t.Context(), 1))
			var wg sync.WaitGroup
			wg.Go(func() { get(t, c, 100) }) // while no load runs, a read does not look for one in its context
			synctest.Wait()
			crowd(10, func(i int) {
				_, err := c.Get(kept, 1+i)
				succeeds(t, err)
			})
			wg.Wait()
			equal(t, src.peak, 2, "loads at a time")
		})
	}
}
