package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// unstored are loads whose value no tier keeps, each for another reason.
var unstored = []struct {
	name string
	end  func(ctx context.Context, tiers *cache.Tiers) (string, error)
	cfg  thingConfig
}{
	{"failed", func(context.Context, *cache.Tiers) (string, error) { return "", errSource }, thingConfig{}},
	{"panicking", func(context.Context, *cache.Tiers) (string, error) { panicHere("loader"); return "", nil }, thingConfig{}},
	{"Goexit", func(context.Context, *cache.Tiers) (string, error) { runtime.Goexit(); return "", nil }, thingConfig{}},
	{
		"absent", func(context.Context, *cache.Tiers) (string, error) { return "", cache.ErrNotFound },
		thingConfig{Policy: patch{NegativeTTL: new(time.Duration(0))}},
	},
	{
		"too large", func(context.Context, *cache.Tiers) (string, error) { return strings.Repeat("x", 2000), nil },
		thingConfig{Policy: patch{MaxValueBytes: new(1000)}},
	},
	{
		"not admitted", func(context.Context, *cache.Tiers) (string, error) { return "quick", nil },
		thingConfig{Policy: patch{MinLoad: new(time.Second)}},
	},
	{"NoStore", func(ctx context.Context, _ *cache.Tiers) (string, error) {
		cache.Filling(ctx).NoStore()
		return "once", nil
	}, thingConfig{}},
	{"overtaken", func(ctx context.Context, tiers *cache.Tiers) (string, error) {
		return "old", tiers.Invalidate(ctx, invalidate.All())
	}, thingConfig{}},
	{"unlinked", func(ctx context.Context, tiers *cache.Tiers) (string, error) {
		k, err := key.Parse(cell1)
		return "old", errors.Join(err, tiers.Invalidate(ctx, invalidate.Key(k)))
	}, thingConfig{}},
}

// A fleet reads a key whose loads store nothing. A caller waits for at most one load of another
// process. Its own load may be overtaken once.
func TestWaitingCostsOneLoad(t *testing.T) {
	for _, tt := range unstored {
		for _, many := range []bool{false, true} {
			for _, hot := range []bool{false, true} {
				bubble(t, fmt.Sprintf("%s, GetMany=%v, hot=%v", tt.name, many, hot), func(t *testing.T) {
					const took, processes = 100 * time.Millisecond, 16
					var cs []things
					remote := delayed(time.Millisecond)
					for range processes {
						tiers := open(t, cache.TiersConfig{Remote: remote})
						cfg := tt.cfg
						cfg.Load = func(ctx context.Context, _ int) (string, error) {
							if err := nap(ctx, took); err != nil {
								return "", err
							}
							return tt.end(ctx, tiers)
						}
						cs = append(cs, with(t, tiers, cfg))
					}
					rounds := 1
					if hot {
						rounds = 30
					}
					worst, sum := waits(t, cs, rounds, many)
					t.Logf("worst %v, mean %v", worst, sum/time.Duration(rounds*processes))
					if worst > 3*took+took/5 {
						t.Errorf("the worst wait is %v, want at most three loads of %v", worst, took)
					}
				})
			}
		}
	}
}

// waits makes every cache read key 1 in several rounds with short random pauses. It returns the
// longest read and the sum of all reads.
func waits(t *testing.T, cs []things, rounds int, many bool) (worst, sum time.Duration) {
	var mu sync.Mutex
	r := rand.New(rand.NewPCG(seedOf(t), 1))
	crowd(len(cs), func(i int) {
		for range rounds {
			mu.Lock()
			pause := time.Duration(r.Int64N(int64(20 * time.Millisecond)))
			mu.Unlock()
			_ = nap(t.Context(), pause)
			begun := time.Now()
			panicOf(func() {
				if many {
					_, _ = cs[i].GetMany(t.Context(), []int{1})
				} else {
					_, _ = cs[i].Get(t.Context(), 1)
				}
			})
			mu.Lock()
			worst, sum = max(worst, time.Since(begun)), sum+time.Since(begun)
			mu.Unlock()
		}
	})
	return worst, sum
}

// delayed returns a remote tier in memory whose every call takes d.
func delayed(d time.Duration) *tiertest.Faulty {
	f := faulty()
	f.Delay(d)
	return f
}

// A process dies with its claim. All others wait for the claim, and one of them takes over.
func TestOneProcessTakesOver(t *testing.T) {
	const lease = 3 * time.Second
	claim := tier.LeaseCell(tier.NewNonce())
	for name, frame := range map[string][]byte{"a claim": claim, "a claim with garbage behind it": append(claim, "garbage"...)} {
		bubble(t, name, func(t *testing.T) {
			remote, src := delayed(time.Millisecond), &source{took: 100 * time.Millisecond}
			_, cs := fleet(t, 16, remote, cache.TiersConfig{}, thingConfig{Load: src.load})
			store(t, remote, cell1, frame, lease)
			begun := time.Now()
			crowd(16, func(i int) { get(t, cs[i], 1) })
			if d := time.Since(begun); d < time.Second || d > lease+300*time.Millisecond {
				t.Errorf("another process took over after %v, want about the lease's %v", d, lease)
			}
			src.wantLoads(t, 1)
		})
	}
}

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
