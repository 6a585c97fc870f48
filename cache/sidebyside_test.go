package cache_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Eight processes read a key at once whose load stores nothing. All of them wait for one load
// of another process, and then load side by side, however long a load takes: the answers come
// after one and after two loads.
func TestOneWaitForAll(t *testing.T) {
	for _, took := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 7 * time.Second} {
		for name, tt := range map[string]struct {
			many, old, newcomers bool
			end                  func(context.Context, *cache.Tiers) (string, error)
		}{
			"failed":                          {},
			"failed, GetMany":                 {many: true},
			"failed, over a value past Stale": {old: true},
			"failed, with newcomers":          {newcomers: true},
			"NoStore": {end: func(ctx context.Context, _ *cache.Tiers) (string, error) {
				cache.Filling(ctx).NoStore()
				return "once", nil
			}},
			"cancelled": {end: func(context.Context, *cache.Tiers) (string, error) { return "", context.Canceled }},
			"panicking": {end: func(context.Context, *cache.Tiers) (string, error) { panicHere("load"); return "", nil }},
		} {
			bubble(t, fmt.Sprintf("%s, %v", name, took), func(t *testing.T) {
				if tt.end == nil {
					tt.end = func(context.Context, *cache.Tiers) (string, error) { return "", errSource }
				}
				remote, first := delayed(time.Millisecond), tt.old
				var cs []things
				for range 9 {
					tiers := open(t, cache.TiersConfig{Remote: remote})
					cs = append(cs, with(t, tiers, thingConfig{
						Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour), Throttle: new(time.Duration(0))},
						Load: func(ctx context.Context, _ int) (string, error) {
							if first {
								return "old", nil
							}
							if err := nap(ctx, took); err != nil {
								return "", err
							}
							return tt.end(ctx, tiers)
						},
					}))
				}
				if first {
					get(t, cs[8], 1)
					first = false
					advance(time.Minute)
				}
				answers := answersOf(t, cs[:8], tt.many, cs[8], tt.newcomers)
				if answers[0] < took || answers[7] > 2*took+took/8+250*time.Millisecond {
					t.Errorf("the answers of loads of %v came after %v, want one load or two", took, answers)
				}
			})
		}
	}
}

// answersOf reads key 1 in all caches at once, and returns how long each read took, in order. With
// newcomers, another process reads the key all the time.
func answersOf(t *testing.T, cs []things, many bool, other things, newcomers bool) (answers []time.Duration) {
	var mu sync.Mutex
	ctx, cancel := context.WithCancel(t.Context())
	var crew sync.WaitGroup
	if newcomers {
		crew.Go(func() {
			for nap(ctx, 3*time.Millisecond) == nil {
				_, _ = other.Get(ctx, 1)
			}
		})
	}
	crowd(len(cs), func(i int) {
		_ = nap(t.Context(), time.Duration(i)*time.Millisecond) // no two look at one moment
		begun := time.Now()
		panicOf(func() {
			if many {
				_, _ = cs[i].GetMany(t.Context(), []int{1})
			} else {
				_, _ = cs[i].Get(t.Context(), 1)
			}
		})
		mu.Lock()
		defer mu.Unlock()
		answers = append(answers, time.Since(begun))
	})
	cancel()
	crew.Wait()
	slices.Sort(answers)
	return answers
}

// A long load is overtaken by the invalidation of its tag or of everything, and repeated. The
// processes that waited for it do not wait for the repetition.
func TestOneWaitForAnOvertakenLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const took = time.Second
		remote := delayed(time.Millisecond)
		var cs []things
		for range 8 {
			tiers := open(t, cache.TiersConfig{Remote: remote})
			cs = append(cs, with(t, tiers, thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
				if err := nap(ctx, took); err != nil {
					return "", err
				}
				return "old", tiers.Invalidate(ctx, invalidate.All())
			}}))
		}
		if answers := answersOf(t, cs, false, cs[0], false); answers[7] > 3*took+took/2 {
			t.Errorf("the answers came after %v, want at most three loads: one wait, and one load that is repeated", answers)
		}
	})
}

// The mark that an ended load leaves does not keep anybody from claiming, setting or deleting
// the key, and it is gone soon.
func TestEndedLoadLeavesNoClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Second, err: errSource}
		remote := faulty()
		_, cs := fleet(t, 2, remote, cache.TiersConfig{}, thingConfig{Load: src.load})
		fail := func() {
			t.Helper()
			if _, err := cs[0].Get(t.Context(), 1); !errors.Is(err, errSource) {
				t.Errorf("Get = %v, want the source's error", err)
			}
		}
		fail()
		begun := time.Now()
		if err := cs[1].Set(t.Context(), 1, "set"); err != nil || time.Since(begun) > 0 {
			t.Errorf("Set after a failed load = %v, after %v", err, time.Since(begun))
		}
		wantFetch(t, cs[0], 1, fetched{"set", cache.Remote, false, nil})
		succeeds(t, cs[1].Delete(t.Context(), 1))
		cs[0] = with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
		fail()
		succeeds(t, cs[1].Delete(t.Context(), 1))
		src.fail(nil)
		remote.ResetCalls()
		wantFetch(t, cs[1], 1, fetched{"1.3", cache.Load, false, nil})
		wantFetch(t, cs[0], 1, fetched{"1.3", cache.Remote, false, nil})
		src.fail(errSource)
		succeeds(t, cs[1].Delete(t.Context(), 1))
		cs[0] = with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
		fail()
		src.fail(nil)
		wantFetch(t, cs[1], 1, fetched{"1.5", cache.Load, false, nil})
		advance(2 * time.Second)
		if b, err := remote.Get(t.Context(), cell1); err != nil || tier.Kind(b[0]) != tier.Value {
			t.Errorf("the cell is %q, %v; want the value of the next load", b, err)
		}
		fail2 := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: func(ctx context.Context, _ int) (string, error) {
			return "", errors.Join(nap(ctx, time.Second), errSource)
		}})
		if _, err := fail2.Get(t.Context(), 2); !errors.Is(err, errSource) {
			t.Error(err)
		}
		advance(time.Second)
		if b, err := remote.Get(t.Context(), "default:things:2"); err != nil || b != nil {
			t.Errorf("a second after a failed load the cell is %q, %v; want none", b, err)
		}
	})
}
