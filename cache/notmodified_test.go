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

// unchanged is a loader whose own source never changes, of values that are built by
// build.
func unchanged(build func(context.Context) (string, error)) func(context.Context, int) (string, error) {
	return func(ctx context.Context, _ int) (string, error) {
		if _, ok := cache.Previous[string](ctx); ok {
			return "", cache.ErrNotModified
		}
		return build(ctx)
	}
}

// A load waits for its turn, and an invalidation returns meanwhile. The value that the
// load is shown as the previous one must not be older than that.
func TestPreviousIsNotOlderThanTheMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{MaxLoads: 1})
		var version atomic.Int64
		version.Store(1)
		part := with(t, tiers, thingConfig{Namespace: "part", Tags: tagT, Load: func(context.Context, int) (string, error) {
			return fmt.Sprint("v", version.Load()), nil
		}})
		outer := with(t, tiers, thingConfig{Namespace: "outer", Load: unchanged(func(ctx context.Context) (string, error) {
			return part.Get(ctx, 1)
		})})
		goOn := make(chan struct{})
		slow := with(t, tiers, thingConfig{Namespace: "slow", Load: func(context.Context, int) (string, error) {
			<-goOn
			return "", nil
		}})
		get(t, outer, 1)
		go func() { _, _ = slow.Get(t.Context(), 1) }()
		synctest.Wait()
		go func() { _ = outer.Refresh(t.Context(), 1) }()
		synctest.Wait() // the refresh waits for its turn
		version.Store(2)
		invalidateTag(t, tiers, "t")
		close(goOn)
		synctest.Wait()
		if got := get(t, outer, 1); got != "v2" {
			t.Errorf("after the invalidation: %q, want v2", got)
		}
	})
}

// A loader that says "not modified" speaks for its own source, and not for the parts of
// the value. Cut off from the log, the value keeps the bound all the same.
func TestNotModifiedVouchesForNoPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 0, storey{read: readOne})
		outer := with(t, w.own, thingConfig{Namespace: "outer", Load: unchanged(func(ctx context.Context) (string, error) {
			return w.levels[0].Get(ctx, 1)
		})})
		get(t, outer, 1) // loads the part, too
		advance(2 * bound)
		w.link.Fail(errors.New("unplugged"))
		at := time.Now()
		w.change(t)
		for time.Since(at) < 5*bound {
			advance(bound / 2)
			_ = outer.Refresh(t.Context(), 1)
			if old := time.Since(at); get(t, outer, 1) == "v1" && old > bound {
				t.Fatalf("v1 is served %v after the invalidation, bound %v", old, bound)
			}
		}
	})
}

// failingFills loses or refuses fills, and leaves the claims standing.
type failingFills struct {
	*tiertest.Memory
	on atomic.Bool
}

var errReset = errors.New("connection reset")

func (f *failingFills) Fill(ctx context.Context, key string, x tier.Fill) (bool, error) {
	if f.on.Load() && len(x.Cell) > 0 {
		return false, errReset
	}
	return f.Memory.Fill(ctx, key, x)
}

func (f *failingFills) FillMany(ctx context.Context, keys []string, xs []tier.Fill) ([]bool, error) {
	if f.on.Load() && len(xs[0].Cell) > 0 {
		return make([]bool, len(keys)), errReset
	}
	return f.Memory.FillMany(ctx, keys, xs)
}

// A fill that fails leaves no claim behind that others would wait for. (Finding R4.)
func TestFailedFillLeavesNoClaim(t *testing.T) {
	for name, write := range map[string]func(t *testing.T, c things){
		"load":  func(t *testing.T, c things) { get(t, c, 1) },
		"set":   func(t *testing.T, c things) { _ = c.Set(t.Context(), 1, "x") },
		"batch": func(t *testing.T, c things) { _, _ = c.GetMany(t.Context(), []int{1, 2, 3}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				src, remote := &source{}, &failingFills{Memory: tiertest.NewMemory()}
				a := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
				b := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
				remote.on.Store(true)
				write(t, a)
				remote.on.Store(false)
				at := time.Now()
				get(t, b, 1)
				if d := time.Since(at); d > 100*time.Millisecond {
					t.Errorf("another process waited %v for a loader that takes no time", d)
				}
			})
		})
	}
}

// What a loader makes of the value before depends on the same, if it says so.
func TestDependOnPrevious(t *testing.T) {
	for _, says := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			tiers := open(t, cache.TiersConfig{})
			c := with(t, tiers, thingConfig{Namespace: "n", Load: func(ctx context.Context, _ int) (string, error) {
				if v, ok := cache.Previous[string](ctx); ok {
					if says {
						cache.Filling(ctx).DependOnPrevious()
					}
					return v + "'", nil
				}
				cache.Depend(ctx, "t")
				return "v", nil
			}})
			get(t, c, 1)
			for range 2 {
				if err := c.Refresh(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			invalidateTag(t, tiers, "t")
			if got := get(t, c, 1); (got == "v") != says {
				t.Errorf("says so: %v; after the tag was invalidated: %q", says, got)
			}
		})
	}
}
