package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// A load ran out of time, and its callers left. Its value is stored when it comes after all.
func TestLateValueIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{
			Load:   func(context.Context, int) (string, error) { <-block; return "late", nil },
			Policy: patch{LoadTimeout: new(2 * time.Second)},
		})
		if _, err := c.Get(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		close(block)
		synctest.Wait()
		wantFetch(t, c, 1, fetched{"late", cache.Local, false, nil})
	})
}

func TestMaxLoadsIsATrueBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Second}
		c := with(t, open(t, cache.TiersConfig{MaxLoads: 4}), thingConfig{Load: src.load})
		start := time.Now()
		crowd(20, func(k int) { get(t, c, k) })
		if src.peak != 4 || time.Since(start) != 5*time.Second {
			t.Errorf("%d concurrent loads in %v, want 4 in 5s", src.peak, time.Since(start))
		}
	})
}

// A loader that ignores its context keeps its slot while it runs. Otherwise MaxLoads would not
// be a bound.
func TestStuckLoadersHoldTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		tiers := open(t, cache.TiersConfig{MaxLoads: 2})
		c := with(t, tiers, thingConfig{
			Policy: patch{LoadTimeout: new(time.Second)},
			Load: func(_ context.Context, k int) (string, error) {
				if k < 2 {
					<-block
				}
				return "v", nil
			},
		})
		crowd(2, func(k int) { _, _ = c.Get(t.Context(), k) })
		start := time.Now()
		_, err := c.Get(t.Context(), 5)
		wantError(t, err, "get", "default:things:5", cache.ErrOverloaded)
		if d := time.Since(start); d != time.Second {
			t.Errorf("the read waited %v for its turn, want LoadTimeout", d)
		}
		_, err = c.GetMany(t.Context(), []int{6, 7})
		if !errors.Is(err, cache.ErrOverloaded) {
			t.Errorf("GetMany: %v, want ErrOverloaded", err)
		}
		if n := total(tiers); n.LoadsRefused != 3 || n.Loads != 2 {
			t.Errorf("LoadsRefused = %d, Loads = %d; want 3 (each key of GetMany has its own load) and 2", n.LoadsRefused, n.Loads)
		}
		close(block)
		synctest.Wait()
		if v := get(t, c, 5); v != "v" {
			t.Errorf("Get = %q after the slots were released", v)
		}
	})
}

func TestWaiterLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: 10 * time.Second}
		c := with(t, open(t, cache.TiersConfig{MaxLoads: 1}), thingConfig{Load: src.load})
		go func() { get(t, c, 1) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Get(ctx, 2)
		wantError(t, err, "get", "default:things:2", context.DeadlineExceeded)
		advance(20 * time.Second)
		src.wantLoads(t, 1) // the caller of 2 has left
	})
}
