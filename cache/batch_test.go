package cache_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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
		calls := map[string]int{
			"get many": remote.Calls(tiertest.GetMany), "claim many": remote.Calls(tiertest.ClaimMany),
			"single": remote.Calls(tiertest.Get, tiertest.Claim, tiertest.Fill, tiertest.Unlink),
			// One for each chunk of LoadMany. The chunks end at different times.
			"fill many": remote.Calls(tiertest.FillMany),
		}
		if diff := cmp.Diff(map[string]int{"get many": 1, "claim many": 1, "fill many": 3, "single": 0}, calls); diff != "" {
			t.Errorf("remote calls (-want +got):\n%s", diff)
		}
		var sizes []int
		for _, b := range src.batches {
			sizes = append(sizes, len(b))
		}
		slices.Sort(sizes)
		if !slices.Equal(sizes, []int{52, 100, 100}) {
			t.Errorf("LoadMany was called with %v keys, want 100, 100 and 52", sizes)
		}
		// Absences are remembered in both tiers.
		remote.ResetCalls()
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

func TestGetManyByLoad(t *testing.T) {
	for _, remote := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src := &source{took: time.Second}
			tc := cache.TiersConfig{}
			if remote {
				tc.Remote = tiertest.NewMemory()
			}
			c := with(t, open(t, tc), thingConfig{Load: src.load})
			start := time.Now()
			m, err := c.GetMany(t.Context(), []int{1, 2, 3, 2})
			if diff := cmp.Diff(map[int]string{1: "1.1", 2: "2.1", 3: "3.1"}, m); diff != "" || err != nil {
				t.Errorf("GetMany: %v, (-want +got):\n%s", err, diff)
			}
			if d := time.Since(start); d > 1100*time.Millisecond {
				t.Errorf("the loads ran one after the other and took %v", d)
			}
		})
	}
}

func TestGetManyMergesWithGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Second}
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{Load: src.load, LoadMany: src.loadMany})
		crowd(4, func(i int) {
			switch i {
			case 0, 1:
				if m, err := c.GetMany(t.Context(), []int{1, 2, 3}); len(m) != 3 || err != nil {
					t.Errorf("GetMany = %v, %v", m, err)
				}
			default:
				if v := get(t, c, i); v == "" {
					t.Errorf("Get(%d) = %q", i, v)
				}
			}
		})
		src.wantLoads(t, 3)
	})
}

func TestGetManyPartialFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{LoadMany: src.loadMany})
		src.fail(errSource)
		m, err := c.GetMany(t.Context(), []int{1, 2, 1000, 1001}) // the loader's map lacks the last two: they failed
		if diff := cmp.Diff(map[int]string{1: "1.1", 2: "2.1"}, m); diff != "" {
			t.Errorf("values (-want +got):\n%s", diff)
		}
		be, ok := errors.AsType[*cache.BatchError[int]](err)
		if !ok || len(be.Errs) != 2 {
			t.Fatalf("error = %v, want a *BatchError with two keys", err)
		}
		wantError(t, be.Errs[1000], "get many", "default:things:1000", errSource)
		wantError(t, be.Errs[1001], "get many", "default:things:1001", errSource)
		// The values were remembered, and the failures were not.
		src.fail(nil)
		if _, err := c.GetMany(t.Context(), []int{1, 2, 1000, 1001}); err != nil {
			t.Errorf("second GetMany: %v", err)
		}
		src.wantLoads(t, 6)
	})
}

func TestGetManyPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := with(t, open(t, cache.TiersConfig{MaxLoads: 1, Remote: tiertest.NewMemory()}), thingConfig{
			LoadMany: func(_ context.Context, keys []int) (map[int]string, error) {
				if n++; n == 1 {
					panicHere("boom")
				}
				return map[int]string{keys[0]: "fine"}, nil
			},
		})
		if pe, ok := panicOf(func() { _, _ = c.GetMany(t.Context(), []int{1, 2}) }).(*cache.PanicError); !ok || pe.Value != "boom" {
			t.Errorf("GetMany panicked with %v", pe)
		}
		if v := get(t, c, 1); v != "fine" {
			t.Errorf("Get = %q after the panic", v)
		}
	})
}

func TestGetManyCancelled(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src, remote := &source{}, faulty()
			c := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{LoadMany: src.loadMany})
			get(t, c, 1)
			remote.ResetCalls()
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			m, err := c.GetMany(ctx, []int{1, 2, 3})
			if len(m) != 1 || !errors.Is(err, context.Canceled) {
				t.Errorf("GetMany = %v, %v, want the local value and the context's error", m, err)
			}
			synctest.Wait()
			src.wantLoads(t, 1)
			if n := remote.Calls(); n != 0 {
				t.Errorf("%d remote calls after the context was cancelled", n)
			}
		})
	})
	t.Run("during the load, with some keys answered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			src := &source{}
			mem := tiertest.NewMemory()
			_, cs := fleet(t, 2, mem, cache.TiersConfig{}, thingConfig{LoadMany: src.loadMany})
			if _, err := cs[0].GetMany(t.Context(), []int{1, 2}); err != nil {
				t.Error(err)
			}
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
	})
}

func TestGetManyWithoutLoader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{})
		if err := c.Set(t.Context(), 1, "one"); err != nil {
			t.Error(err)
		}
		m, err := c.GetMany(t.Context(), []int{1, 2})
		if m[1] != "one" || !errors.Is(err, cache.ErrMiss) {
			t.Errorf("GetMany = %v, %v, want one and ErrMiss", m, err)
		}
	})
}

func TestGetManyServesStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.load, LoadMany: src.loadMany, Policy: swr})
		_, _ = c.GetMany(t.Context(), []int{1, 2})
		advance(20 * time.Second)
		m, err := c.GetMany(t.Context(), []int{1, 2})
		if diff := cmp.Diff(map[int]string{1: "1.1", 2: "2.1"}, m); diff != "" || err != nil {
			t.Errorf("GetMany: %v, (-want +got):\n%s", err, diff)
		}
		synctest.Wait()
		m, _ = c.GetMany(t.Context(), []int{1, 2})
		if diff := cmp.Diff(map[int]string{1: "1.2", 2: "2.2"}, m); diff != "" {
			t.Errorf("after the refreshes (-want +got):\n%s", diff)
		}
	})
}

func TestGetManyWithRemoteDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote})
		c := with(t, tiers, thingConfig{LoadMany: src.loadMany})
		remote.FailKeys(errors.New("node down"), "default:things:2")
		m, err := c.GetMany(t.Context(), []int{1, 2, 3})
		if len(m) != 3 || err != nil {
			t.Errorf("with one key unreachable: %v, %v", m, err)
		}
		remote.Heal()
		remote.Hang(true)
		start := time.Now()
		m, err = c.GetMany(t.Context(), ints(10, 20))
		if len(m) != 10 || err != nil || time.Since(start) > 200*time.Millisecond {
			t.Errorf("with a remote tier that hangs: %d values, %v, after %v", len(m), err, time.Since(start))
		}
	})
}
