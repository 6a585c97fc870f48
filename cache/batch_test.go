package cache_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func ints(from, to int) (out []int) {
	for i := from; i < to; i++ {
		out = append(out, i)
	}
	return out
}

func TestGetManyIsFewCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote})
		cfg := thingConfig{LoadMany: src.loadMany, MaxBatch: 100}
		c := with(t, tiers, cfg)
		keys := append(ints(0, 250), 1000, 1001) // the source does not have the last two
		m, err := c.GetMany(t.Context(), append(keys, 3, 3))
		if err != nil || len(m) != 250 || m[249] != "249.1" {
			t.Errorf("GetMany = %d values, %v, want 250", len(m), err)
		}
		wantCalls(t, remote, "GetMany", 1, 1, 3, 0) // a fill for each chunk of LoadMany; the chunks end at different times
		var sizes []int
		for _, b := range src.batches {
			sizes = append(sizes, len(b))
		}
		slices.Sort(sizes)
		if !slices.Equal(sizes, []int{52, 100, 100}) {
			t.Errorf("LoadMany was called with %v keys, want 100, 100 and 52", sizes)
		}
		// Absences are remembered in both tiers.
		if m, err := c.GetMany(t.Context(), keys); err != nil || len(m) != 250 || remote.Calls() != 0 {
			t.Errorf("second GetMany = %d values, %v, %d remote calls", len(m), err, remote.Calls())
		}
		d := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
		if m, err := d.GetMany(t.Context(), keys); err != nil || len(m) != 250 || remote.Calls() != 1 {
			t.Errorf("in another process: %d values, %v, %d remote calls, want one", len(m), err, remote.Calls())
		}
		src.wantLoads(t, 252)
		_, err = c.Get(t.Context(), 1000)
		wantError(t, err, "get", "default:things:1000", cache.ErrNotFound)
	})
}

func TestGetManyNothing(t *testing.T) {
	src, remote := &source{}, faulty()
	c := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{LoadMany: src.loadMany})
	for _, keys := range [][]int{nil, {}} {
		if m, err := c.GetMany(t.Context(), keys); m == nil || len(m) != 0 || err != nil || remote.Calls() != 0 {
			t.Errorf("GetMany(%v) = %v, %v after %d remote calls", keys, m, err, remote.Calls())
		}
	}
}

// A key that repeats counts once, whether it has a value, is absent or has to be loaded.
func TestGetManyCountsAKeyOnce(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	c := with(t, tiers, thingConfig{Policy: policy.Patch{NegativeTTL: new(time.Hour)}, Load: func(_ context.Context, id int) (string, error) {
		if id == 2 {
			return "", cache.ErrNotFound
		}
		return "x", nil
	}})
	for _, want := range []cache.Counts{
		{Misses: 3, Loads: 3, Negatives: 1},
		{LocalHits: 3, Negatives: 1},
	} {
		before := tiers.Stats().Total
		if m, err := c.GetMany(t.Context(), []int{1, 2, 3, 1, 2, 3}); len(m) != 2 || err != nil {
			t.Errorf("GetMany = %v, %v, want two values", m, err)
		}
		after := tiers.Stats().Total
		got := cache.Counts{
			LocalHits: after.LocalHits - before.LocalHits, Misses: after.Misses - before.Misses,
			Loads: after.Loads - before.Loads, Negatives: after.Negatives - before.Negatives,
		}
		if got != want {
			t.Errorf("counted %+v, want %+v", got, want)
		}
	}
}

// A call that is cancelled returns the keys that it has, and its loads end.
func TestGetManyCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		mem := tiertest.NewMemory()
		_, cs := fleet(t, 2, mem, cache.TiersConfig{}, thingConfig{LoadMany: src.loadMany})
		succeeds(t, errOf(cs[0].GetMany(t.Context(), []int{1, 2})))
		src.took = time.Minute / 3
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		m, err := cs[1].GetMany(ctx, []int{1, 2, 3, 4})
		if len(m) != 2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("GetMany = %v, %v, want two values and the deadline", m, err)
		}
		synctest.Wait()
		src.mu.Lock()
		defer src.mu.Unlock()
		if len(src.ctxErrs) != 1 {
			t.Errorf("the load goes on without a caller: %v", src.ctxErrs)
		}
	})
}
