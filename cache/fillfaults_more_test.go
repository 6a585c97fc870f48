package cache_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The search for circles takes time in proportion to the number of waiting loads, not to the
// number of paths between them.
func TestManyLoadsThatWaitInLayers(t *testing.T) {
	const width, layers = 8, 10
	start := time.Now()
	synctest.Test(t, func(t *testing.T) {
		var c things
		c = with(t, open(t, cache.TiersConfig{}), thingConfig{Load: func(ctx context.Context, k int) (string, error) {
			if k < width {
				return "v", nap(ctx, time.Second)
			}
			below := make([]int, width)
			for i := range below {
				below[i] = (k/width-1)*width + i
			}
			_, err := c.GetMany(ctx, below)
			return "v", err
		}})
		for l := range layers {
			for i := range width {
				go func() { _, _ = c.Get(t.Context(), l*width+i) }()
			}
			synctest.Wait()
		}
		advance(2 * time.Second)
	})
	if d := time.Since(start); d > 2*time.Second {
		t.Errorf("%d loads took %v of real time", width*layers, d)
	}
}

// One key of a large batch fails, for example on a node that is down. The other keys are still
// read from the remote tier.
func TestOneBadKeyAmongThousands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := faulty()
		src := &source{}
		many := func(ctx context.Context, keys []int) (map[int]string, error) {
			m := map[int]string{}
			for _, k := range keys {
				m[k], _ = src.load(ctx, k)
			}
			return m, nil
		}
		_, cs := fleet(t, 2, remote, cache.TiersConfig{}, thingConfig{LoadMany: many})
		keys := ints(0, 3000)
		_, _ = cs[0].GetMany(t.Context(), keys)
		before := src.total()
		remote.FailKeys(errSource, "default:things:0")
		if m, err := cs[1].GetMany(t.Context(), keys); err != nil || len(m) != len(keys) {
			t.Errorf("%d values, %v", len(m), err)
		}
		if n := src.total() - before; n != 1 {
			t.Errorf("%d keys were loaded, want 1: the others are in the remote tier", n)
		}
	})
}

// If the remote tier ends the goroutine at any step, every caller still gets an answer.
func TestGoexitAtEachStep(t *testing.T) {
	for _, op := range []tiertest.Op{tiertest.Get, tiertest.Claim, tiertest.Fill} {
		synctest.Test(t, func(t *testing.T) {
			remote := faulty()
			src := &source{}
			c := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
			var once atomic.Bool
			remote.Before(func(_ context.Context, o tiertest.Op, _ []string) {
				if o == op && once.CompareAndSwap(false, true) {
					runtime.Goexit()
				}
			})
			first := make(chan error, 1)
			go func() {
				var err error
				defer func() { first <- err }() // also if the caller's own goroutine ends
				_, err = c.Get(t.Context(), 1)
			}()
			synctest.Wait()
			second := time.Now()
			get(t, c, 1)
			if d := time.Since(second); d > 100*time.Millisecond {
				t.Errorf("op %v: the next caller waited %v", op, d)
			}
			select {
			case err := <-first:
				if op == tiertest.Fill && !errors.Is(err, cache.ErrGoexit) {
					t.Errorf("op %v: Get: %v, want ErrGoexit", op, err)
				}
			case <-time.After(time.Hour):
				t.Errorf("op %v: the caller waits for ever", op)
			}
		})
	}
}
