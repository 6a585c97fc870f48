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
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// tower is one process with caches that are built on each other. Level 0 reads the source, and
// level i+1 is built from level i. The process can be cut off from the log.
type tower struct {
	source atomic.Int64 // the source's version
	teller *cache.Tiers // the process that invalidates
	link   *logtest.Faulty
	own    *cache.Tiers
	levels []things
}

// storey says how a level is built from the level below.
type storey struct {
	read   func(ctx context.Context, below things) (string, error)
	noTags bool
	many   bool // it has LoadMany, too
	apart  bool // odd levels are on other Tiers
	remote bool
}

func newTower(t *testing.T, depth int, s storey) *tower {
	log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
	w := &tower{link: logtest.NewFaulty(log)}
	var cfg cache.TiersConfig
	if s.remote {
		cfg.Remote = tiertest.NewMemory()
	}
	cfg.Log = log
	w.teller = open(t, cfg)
	cfg.Log = w.link
	w.own = open(t, cfg)
	tiers := []*cache.Tiers{w.own, w.own}
	if s.apart {
		advance(bound / 7) // the two Tiers count time from different moments
		tiers[1] = open(t, cfg)
	}
	w.source.Store(1)
	load := func(context.Context, int) (string, error) { return fmt.Sprint("v", w.source.Load()), nil }
	tags := tagT
	if s.noTags {
		tags = nil
	}
	for i := range depth + 1 {
		c := thingConfig{Namespace: fmt.Sprint("level", i), Load: load, Tags: tags}
		if i > 0 {
			below := w.levels[i-1]
			c.Tags = nil
			c.Load = func(ctx context.Context, _ int) (string, error) { return s.read(ctx, below) }
			if s.many {
				c.LoadMany = func(ctx context.Context, keys []int) (map[int]string, error) {
					v, err := s.read(ctx, below)
					out := map[int]string{}
					for _, k := range keys {
						out[k] = v
					}
					return out, err
				}
			}
		}
		w.levels = append(w.levels, with(t, tiers[i%2], c))
	}
	synctest.Wait()
	return w
}

// read reads a level, through LoadMany where it has one.
func (w *tower) read(t *testing.T, level int) string {
	t.Helper()
	got, err := w.levels[level].GetMany(t.Context(), []int{1, 2})
	if err != nil || len(got) != 2 || got[1] != got[2] {
		t.Errorf("level %d: %v, %v", level, got, err)
	}
	return got[1]
}

// change writes to the source and invalidates what was built from it.
func (w *tower) change(t *testing.T, more ...invalidate.Scope) {
	t.Helper()
	w.source.Add(1)
	scopes := append(more, invalidate.Tag(cache.DefaultTenant, "t"), invalidate.Prefix("default", "level0:"))
	succeeds(t, w.teller.Invalidate(t.Context(), scopes...))
}

// climb reads the levels until no old value can be left. It starts to read each level pace after
// the level below. It returns, for each level, how long after since it served the last old
// value.
func (w *tower) climb(t *testing.T, since time.Time, pace time.Duration) []time.Duration {
	t.Helper()
	const step = bound / 40
	last := make([]time.Duration, len(w.levels))
	for begun := time.Now(); time.Since(begun) < bound*time.Duration(len(w.levels)+1); advance(step) {
		for i := range w.levels {
			if time.Since(begun) < time.Duration(i)*pace {
				break
			}
			if w.read(t, i) == "v1" {
				last[i] = time.Since(since)
			}
		}
	}
	return last
}

func readOne(ctx context.Context, below things) (string, error) { return below.Get(ctx, 1) }

// After an invalidation, a built value is served no longer than its parts: for one bound, at any
// depth.
func TestBuiltValuesKeepTheBound(t *testing.T) {
	for _, tt := range []struct {
		name string
		storey
	}{
		{"Get", storey{read: readOne}},
		{"Get, no tags", storey{read: readOne, noTags: true}},
		{"Get, with a remote tier", storey{read: readOne, remote: true}},
		{"Get, in LoadMany", storey{read: readOne, many: true}},
		{"Get, two Tiers", storey{read: readOne, apart: true}},
		{"GetMany", storey{read: func(ctx context.Context, below things) (string, error) {
			m, err := below.GetMany(ctx, []int{1, 2})
			return m[1], err
		}}},
		{"GetMany, in LoadMany", storey{many: true, read: func(ctx context.Context, below things) (string, error) {
			m, err := below.GetMany(ctx, []int{1, 2})
			return m[1], err
		}}},
		{"GetOrLoad", storey{read: func(ctx context.Context, below things) (string, error) { return below.GetOrLoad(ctx, 1, nil) }}},
		{"Fetch", storey{read: func(ctx context.Context, below things) (string, error) {
			r, err := below.Fetch(ctx, 1, nil)
			return r.Value, err
		}}},
		{"Peek", storey{read: func(ctx context.Context, below things) (string, error) {
			if v, ok := below.Peek(ctx, 1); ok {
				return v, nil
			}
			return below.Get(ctx, 1)
		}}},
	} {
		for depth := range 4 {
			bubble(t, fmt.Sprintf("%s, depth %d", tt.name, depth), func(t *testing.T) {
				w := newTower(t, depth, tt.storey)
				w.read(t, 0)
				advance(bound)
				w.read(t, 0) // it is valid by the lease alone
				w.link.Fail(errors.New("unplugged"))
				at := time.Now()
				w.change(t)
				for i, d := range w.climb(t, at, bound*9/10) {
					if d > bound {
						t.Errorf("level %d serves the old value for %v after the invalidation, want at most %v", i, d, bound)
					}
				}
			})
		}
	}
}

// With Strict, built values are gone, too, when the call returns.
func TestStrictHoldsForBuiltValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const depth = 2
		w := newTower(t, depth, storey{read: readOne})
		w.read(t, 0)
		advance(bound)
		w.link.Hang(true)
		done := make(chan time.Time)
		go func() {
			w.change(t, invalidate.Strict)
			done <- time.Now()
		}()
		for i := range depth { // each level is built while the call waits
			advance(bound * 4 / 10)
			w.read(t, i+1)
		}
		at := <-done
		for i, d := range w.climb(t, at, 0) {
			if d > 0 {
				t.Errorf("level %d serves the old value for %v after Strict returned", i, d)
			}
		}
	})
}

// A load may join the flight that loads one of its parts.
func TestBuiltFromJoinedFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 1, storey{read: readOne})
		inside := make(chan struct{})
		var hold sync.WaitGroup
		hold.Add(1)
		middle := with(t, w.own, thingConfig{Namespace: "middle", Load: func(ctx context.Context, _ int) (string, error) {
			v, err := w.levels[0].Get(ctx, 1)
			close(inside)
			hold.Wait()
			return v, err
		}})
		outer := with(t, w.own, thingConfig{Namespace: "outer", Load: readOneOf(middle)})
		w.read(t, 0)
		advance(bound)
		w.link.Fail(errors.New("unplugged"))
		at := time.Now()
		w.change(t)
		advance(bound * 7 / 10) // the lease was renewed at most a quarter of a bound before the failure
		go func() { _, _ = middle.Get(t.Context(), 1) }()
		<-inside
		go func() { _, _ = outer.Get(t.Context(), 1) }()
		synctest.Wait()
		hold.Done()
		synctest.Wait()
		if got := get(t, outer, 1); got != "v1" {
			t.Fatalf("Get within the bound = %q, want what was cached", got)
		}
		inside = make(chan struct{})
		advance(bound - time.Since(at))
		if got := get(t, outer, 1); got != "v2" {
			t.Errorf("Get a bound after the invalidation = %q, want v2", got)
		}
	})
}

func readOneOf(below things) cache.Loader[int, string] {
	return func(ctx context.Context, _ int) (string, error) { return readOne(ctx, below) }
}

// While the lease holds, a built value lives as long as its policy allows.
func TestBuiltValuesLiveWithALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTower(t, 2, storey{read: readOne})
		for range 20 {
			if got := w.read(t, 2); got != "v1" {
				t.Fatalf("Get = %q, want v1", got)
			}
			advance(bound)
		}
		if n := total(w.own).Loads; n != 4 {
			t.Errorf("%d loads, want 4: two keys on the top level, one on each of the others", n)
		}
		w.change(t)
		advance(time.Millisecond)
		for i := range w.levels {
			if got := w.read(t, i); got != "v2" {
				t.Errorf("level %d = %q after the record arrived, want v2", i, got)
			}
		}
	})
}
