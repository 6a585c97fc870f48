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

// conditional is a source whose loader can report that the previous value is unchanged.
type conditional struct {
	say     func(f *cache.Fill)
	changed bool
	err     error
	loads   int
	asked   string // Previous of the latest load
}

func (s *conditional) load(ctx context.Context, _ int) (string, error) {
	s.say(cache.Filling(ctx))
	s.loads++
	s.asked, _ = cache.Previous[string](ctx)
	switch {
	case s.err != nil:
		return "", s.err
	case s.asked != "" && !s.changed:
		return "ignored", cache.ErrNotModified
	case s.changed:
		return "v2", nil
	}
	return "v1", nil
}

func (s *conditional) want(t *testing.T, loads int, asked string) {
	t.Helper()
	if s.loads != loads || s.asked != asked {
		t.Errorf("%d loads, Previous of the last %q; want %d, %q", s.loads, s.asked, loads, asked)
	}
}

func hourKept(f *cache.Fill) {
	f.SetTTL(10 * time.Second)
	f.SetKeep(time.Hour)
}

// twins returns the caches of two processes, or the cache of one process twice.
func twins(t *testing.T, alone bool, src *conditional) ([]*cache.Tiers, []things) {
	cfg := thingConfig{Load: src.load, Tags: tagT, Policy: patch{Stale: new(time.Minute)}}
	if !alone {
		return fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, cfg)
	}
	ts, cs := fleet(t, 1, nil, cache.TiersConfig{}, cfg)
	return append(ts, ts...), append(cs, cs...)
}

// each runs a test with two processes, and with one process without a remote tier.
func each(t *testing.T, test func(t *testing.T, alone bool)) {
	for name, alone := range map[string]bool{"two processes": false, "one process": true} {
		bubble(t, name, func(t *testing.T) { test(t, alone) })
	}
}

// A kept value is not served. The load that replaces it gets it as Previous. ErrNotModified
// makes it fresh again for the lifetime that this load sets.
func TestKept(t *testing.T) {
	each(t, func(t *testing.T, alone bool) {
		src := &conditional{say: hourKept}
		_, cs := twins(t, alone, src)
		get(t, cs[0], 1)
		advance(10*time.Second + time.Minute + time.Hour - time.Second)
		if v, ok := cs[1].Peek(t.Context(), 1); ok {
			t.Errorf("Peek = %q after the value ended", v)
		}
		src.say = func(f *cache.Fill) { f.SetTTL(time.Minute) }
		wantFetch(t, cs[1], 1, fetched{"v1", cache.Load, false, nil}, cache.MaxAge(24*time.Hour))
		src.want(t, 2, "v1")
		advance(59 * time.Second)
		wantFetch(t, cs[1], 1, fetched{"v1", cache.Local, false, nil})
		advance(2*time.Minute + time.Second) // the last load did not keep it
		wantFetch(t, cs[0], 1, fetched{"v1", cache.Load, false, nil})
		src.want(t, 3, "")
	})
}

// This is the control of TestKept: Keep ends, and without Keep there is no Previous.
func TestKeptNoLonger(t *testing.T) {
	for name, say := range map[string]func(f *cache.Fill){
		"the end":    hourKept,
		"not kept":   func(f *cache.Fill) { f.SetTTL(10 * time.Second) },
		"below zero": func(f *cache.Fill) { f.SetTTL(10 * time.Second); f.SetKeep(time.Hour); f.SetKeep(-time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, alone bool) {
				src := &conditional{say: say}
				_, cs := twins(t, alone, src)
				get(t, cs[0], 1)
				advance(10*time.Second + time.Minute + time.Hour)
				get(t, cs[1], 1)
				src.want(t, 2, "")
			})
		})
	}
}

// An invalidation also covers kept values.
func TestKeptAndInvalidated(t *testing.T) {
	each(t, func(t *testing.T, alone bool) {
		src := &conditional{say: hourKept}
		ts, cs := twins(t, alone, src)
		get(t, cs[0], 1)
		advance(5 * time.Minute)
		invalidateTag(t, ts[1], "t") // without a log it reaches only this process
		get(t, cs[1], 1)
		src.want(t, 2, "")
	})
}

// Without a log an Expire rewrites the cell. Keep then counts from the new end.
func TestKeptAndExpired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &conditional{say: func(f *cache.Fill) { f.SetTTL(time.Hour); f.SetKeep(time.Hour); f.SetStale(time.Minute) }}
		_, cs := twins(t, false, src)
		get(t, cs[0], 1)
		advance(time.Second)
		must(t, cs[0].Expire(t.Context(), 1))
		advance(30 * time.Second)
		if v, ok := cs[1].Peek(t.Context(), 1); !ok {
			t.Errorf("Peek = %q, %v while the value is stale, want v1", v, ok)
		}
		advance(30*time.Second + time.Hour - time.Second)
		get(t, cs[1], 1)
		src.want(t, 2, "v1")
	})
}

// A value that is never fresh is loaded at each read, and each load gets it as Previous. When
// the source fails, the kept value is not served, and stays kept.
func TestKeptAndNeverFresh(t *testing.T) {
	each(t, func(t *testing.T, alone bool) {
		src := &conditional{say: func(f *cache.Fill) {
			f.SetKeep(time.Hour)
			f.SetTTL(0)
			f.SetStale(0)
		}}
		_, cs := twins(t, alone, src)
		for i := range 4 {
			wantFetch(t, cs[i%2], 1, fetched{"v1", cache.Load, false, nil})
		}
		src.want(t, 4, "v1")
		src.err = errSource
		wantFetch(t, cs[0], 1, fetched{"", 0, false, errSource})
		wantFetch(t, cs[1], 1, fetched{"", 0, false, errSource})
		src.want(t, 6, "v1")
		src.err, src.changed = nil, true
		advance(time.Second)
		wantFetch(t, cs[1], 1, fetched{"v2", cache.Load, false, nil})
		src.want(t, 7, "v1")
		wantFetch(t, cs[0], 1, fetched{"v2", cache.Load, false, nil})
		src.want(t, 8, "v2") // the newer of the local and the remote value
	})
}

// An absence has no value to keep.
func TestAbsenceIsNotKept(t *testing.T) {
	each(t, func(t *testing.T, alone bool) {
		src := &conditional{err: cache.ErrNotFound, say: func(f *cache.Fill) { f.SetTTL(0); f.SetKeep(time.Hour); f.SetStale(time.Hour) }}
		ts, cs := twins(t, alone, src)
		for range 2 {
			wantFetch(t, cs[0], 1, fetched{"", cache.Load, false, cache.ErrNotFound})
		}
		src.want(t, 2, "")
		if n := total(ts[0]).FillsNotWanted; n != 2 {
			t.Errorf("FillsNotWanted = %d, want 2: an absence is not kept", n)
		}
	})
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
