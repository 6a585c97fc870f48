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

// unchanged returns a loader that gets its first value from build. After that it reports that
// its source has not changed.
func unchanged(build func(context.Context) (string, error)) func(context.Context, int) (string, error) {
	return func(ctx context.Context, _ int) (string, error) {
		if _, ok := cache.Previous[string](ctx); ok {
			return "", cache.ErrNotModified
		}
		return build(ctx)
	}
}

// A load waits for its turn, and an invalidation returns meanwhile. Previous must then not
// return a value from before the invalidation.
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

// ErrNotModified says that the loader's own source has not changed. It says nothing of the
// value's parts. So a process that is cut off from the log still keeps the bound.
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

// failingFills fails fills and leaves their claims in place.
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

// A failed fill leaves no claim that others would wait for.
func TestFailedFillLeavesNoClaim(t *testing.T) {
	for name, write := range map[string]func(t *testing.T, c things){
		"load":  func(t *testing.T, c things) { get(t, c, 1) },
		"set":   func(t *testing.T, c things) { _ = c.Set(t.Context(), 1, "x") },
		"batch": func(t *testing.T, c things) { _, _ = c.GetMany(t.Context(), []int{1, 2, 3}) },
	} {
		bubble(t, name, func(t *testing.T) {
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
	}
}

// DependOnPrevious gives a value the tags of the previous one, from which it was made.
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
				must(t, c.Refresh(t.Context(), 1))
			}
			invalidateTag(t, tiers, "t")
			if got := get(t, c, 1); (got == "v") != says {
				t.Errorf("DependOnPrevious called: %v; Get after the tag was invalidated = %q", says, got)
			}
		})
	}
}
