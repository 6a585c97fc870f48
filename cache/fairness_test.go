package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
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
