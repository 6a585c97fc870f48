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

// A kept value is not served. The load that replaces it gets it as Previous. ErrNotModified
// makes it fresh again for the lifetime that this load sets.
func TestKept(t *testing.T) {
	cfg := thingConfig{Policy: patch{Stale: new(time.Minute)}}
	const on = "alone paired"
	play(
		t,
		scene{name: "confirmed", on: on, cfg: cfg, steps: `
			source unchanged; says ttl=10s keep=1h; a gets 1.1; wait 1h1m9s; b peeks nothing
			says ttl=1m; b gets 1.1 load MaxAge=24h; loads 2; previous 1.1; wait 59s; b gets 1.1 local
			wait 2m1s; a gets 1.3 load; previous nothing`}, // the last load did not keep it
		scene{name: "Keep ends", on: on, cfg: cfg, steps: "says ttl=10s keep=1h; a gets 1.1; wait 1h1m10s; b gets 1.2; previous nothing"},
		scene{name: "not kept", on: on, cfg: cfg, steps: "says ttl=10s; a gets 1.1; wait 1h1m9s; b gets 1.2; previous nothing"},
		scene{name: "below zero", on: on, cfg: cfg, steps: "says ttl=10s keep=1h keep=-1h; a gets 1.1; wait 1h1m9s; b gets 1.2; previous nothing"},
		// Without a log an invalidation by tag reaches only this process.
		scene{name: "invalidated", on: on, cfg: cfg, steps: "says ttl=10s keep=1h; a gets 1.1; wait 5m; b invalidates tag; b gets 1.2; previous nothing"},
		// Without a log an Expire rewrites the cell. Keep then counts from the new end.
		scene{name: "expired", on: paired, cfg: cfg, steps: `
			says ttl=1h keep=1h stale=1m; a gets 1.1; wait 1s; a expires; wait 30s; b peeks 1.1; wait 1h29s; b gets 1.2; previous 1.1`},
		// It is loaded at each read. When the source fails, the kept value is not served, and stays kept. Of a
		// local and a remote value the newer is Previous.
		scene{name: "never fresh", on: on, cfg: cfg, steps: `
			source unchanged; says keep=1h ttl=0s stale=0s; a gets 1.1 load; b gets 1.1 load; a gets 1.1 load; loads 3; previous 1.1
			source fails; a gets failed; b gets failed; loads 5; previous 1.1; source well; source changed; wait 1s
			b gets 1.6 load; previous 1.1; a gets 1.7 load; previous 1.6`},
		scene{name: "an absence has no value to keep", on: on, cfg: cfg, steps: `
			source absent; says ttl=0s keep=1h stale=1h; a gets absent load; a gets absent load; loads 2; previous nothing; a counts FillsNotWanted=2`},
	)
}

// ErrNotModified is an error if there is no previous value.
func TestNotModifiedWithoutPrevious(t *testing.T) {
	play(t, scene{err: cache.ErrNotModified, steps: "source fails; a gets unmodified"})
	if _, ok := cache.Previous[string](t.Context()); ok {
		t.Error("Previous outside a loader reports a value")
	}
}

// A value that is built from a never-fresh value is as fresh as its own loader says. This holds
// in the process that loaded the part and in others.
func TestBuiltOfNeverFresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, parts := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{Namespace: "part", Load: func(ctx context.Context, _ int) (string, error) {
			f := cache.Filling(ctx)
			f.SetTTL(0)
			f.SetStale(time.Hour)
			return "part", nil
		}})
		get(t, parts[0], 1)
		src := &source{}
		outer := with(t, ts[1], thingConfig{Namespace: "outer", Load: func(ctx context.Context, k int) (string, error) {
			get(t, parts[1], 1)
			return src.load(ctx, k)
		}})
		wantFetch(t, outer, 1, fetched{"1.1", cache.Load, false, nil})
		wantFetch(t, outer, 1, fetched{"1.1", cache.Local, false, nil})
	})
}

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
		equal(t, get(t, outer, 1), "v2", "after the invalidation")
	})
}

// ErrNotModified says that the loader's own source has not changed. It says nothing of the
// value's parts. So a process that is cut off from the log still keeps the bound.
func TestNotModifiedVouchesForNoPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorks()
		w.depth, w.remote, w.policy = 0, nil, patch{}
		teller, p := w.process(t), w.process(t)
		outer := with(t, p.tiers, thingConfig{Namespace: "outer", Load: unchanged(func(ctx context.Context) (string, error) {
			return readPart(ctx, p.parts())
		})})
		get(t, outer, 1) // loads the part, too
		advance(2 * bound)
		p.link.Fail(errDown)
		at := time.Now()
		w.change(t, teller)
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
	for value, says := range map[string]bool{"v": true, "v''": false} {
		play(t, scene{name: value, cfg: thingConfig{Tags: func(int, string) []string { return nil }, Load: func(ctx context.Context, _ int) (string, error) {
			if v, ok := cache.Previous[string](ctx); ok {
				if says {
					cache.Filling(ctx).DependOnPrevious()
				}
				return v + "'", nil
			}
			cache.Depend(ctx, "t")
			return "v", nil
		}}, steps: "a gets v; a refreshes; a refreshes; a gets v''; a invalidates tag; a gets " + value})
	}
}
