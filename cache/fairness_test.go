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

// unlucky returns the caches of n processes on one remote tier. Their loads take some time, and then
// end in the same way.
func unlucky(t *testing.T, n int, took time.Duration, cfg thingConfig, end func(context.Context, *cache.Tiers) (string, error)) (cs []things) {
	remote := delayed(time.Millisecond)
	for range n {
		tiers := open(t, cache.TiersConfig{Remote: remote})
		cfg.Load = func(ctx context.Context, _ int) (string, error) {
			if err := nap(ctx, took); err != nil {
				return "", err
			}
			return end(ctx, tiers)
		}
		cs = append(cs, with(t, tiers, cfg))
	}
	return cs
}

// answersOf reads key 1 in all caches at once, in some rounds, and returns how long each read took, in
// order. A process pauses before each of its reads: no two look at one moment.
func answersOf(t *testing.T, cs []things, many bool, rounds int, pause func(i int) time.Duration) (answers []time.Duration) {
	var mu sync.Mutex
	crowd(len(cs), func(i int) {
		for range rounds {
			mu.Lock()
			d := pause(i)
			mu.Unlock()
			_ = nap(t.Context(), d)
			begun := time.Now()
			panicOf(func() { _, _ = readBy(t.Context(), cs[i], many) })
			mu.Lock()
			answers = append(answers, time.Since(begun))
			mu.Unlock()
		}
	})
	slices.Sort(answers)
	return answers
}

// A fleet reads a key whose loads store nothing. A caller waits for at most one load of another
// process. Its own load may be overtaken once.
func TestWaitingCostsOneLoad(t *testing.T) {
	r := rand.New(rand.NewPCG(seedOf(t), 1))
	for _, tt := range unstored {
		for _, many := range []bool{false, true} {
			for _, rounds := range []int{1, 30} {
				for _, took := range []time.Duration{100 * time.Millisecond, time.Second} {
					bubble(t, fmt.Sprintf("%s, GetMany=%v, %d rounds, %v", tt.name, many, rounds, took), func(t *testing.T) {
						cfg := tt.cfg
						if cfg.Policy.MinLoad != nil {
							cfg.Policy.MinLoad = new(2 * took)
						}
						cs := unlucky(t, 16, took, cfg, tt.end)
						answers := answersOf(t, cs, many, rounds, func(int) time.Duration { return time.Duration(r.Int64N(int64(20 * time.Millisecond))) })
						if worst := answers[len(answers)-1]; worst > 3*took+took/5 {
							t.Errorf("the worst wait is %v, want at most three loads of %v", worst, took)
						}
					})
				}
			}
		}
	}
}

// Eight processes read a key at once whose load stores nothing. All of them wait for one load
// of another process, and then load in parallel, however long a load takes: the answers come
// after one and after two loads.
func TestOneWaitForAll(t *testing.T) {
	for _, took := range []time.Duration{100 * time.Millisecond, 500 * time.Millisecond, time.Second, 2500 * time.Millisecond, 7 * time.Second} {
		for name, end := range map[string]func(context.Context, *cache.Tiers) (string, error){
			"failed": unstored[0].end, "failed, GetMany": unstored[0].end, "failed, over a value past Stale": unstored[0].end,
			"failed, with newcomers": unstored[0].end, "panicking": unstored[1].end, "NoStore": unstored[6].end,
			"cancelled": func(context.Context, *cache.Tiers) (string, error) { return "", context.Canceled },
		} {
			bubble(t, fmt.Sprintf("%s, %v", name, took), func(t *testing.T) {
				first := strings.Contains(name, "past Stale")
				cs := unlucky(t, 9, took, thingConfig{Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour), Throttle: new(time.Duration(0))}},
					func(ctx context.Context, tiers *cache.Tiers) (string, error) {
						if first {
							return "old", nil
						}
						return end(ctx, tiers)
					})
				if first {
					get(t, cs[8], 1)
					first = false
					advance(time.Minute)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var crew sync.WaitGroup
				if strings.Contains(name, "newcomers") { // another process reads the key all the time
					crew.Go(func() {
						for nap(ctx, 3*time.Millisecond) == nil {
							_, _ = cs[8].Get(ctx, 1)
						}
					})
				}
				answers := answersOf(t, cs[:8], strings.Contains(name, "GetMany"), 1, func(i int) time.Duration { return time.Duration(i) * time.Millisecond })
				cancel()
				crew.Wait()
				if answers[0] < took || answers[7] > 2*took+took/8+250*time.Millisecond {
					t.Errorf("the answers of loads of %v came after %v, want one load or two", took, answers)
				}
			})
		}
	}
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

// The mark that an ended load leaves does not keep anybody from claiming, setting or deleting
// the key, and it is gone soon.
func TestEndedLoadLeavesNoClaim(t *testing.T) {
	play(t, scene{on: paired, steps: `
		source takes=1s; source fails; a gets failed; b sets set; took 0s; a gets set remote
		b deletes; a gets failed SkipLocal; b deletes; source well; b gets 1.3 load; a gets 1.3 remote SkipLocal
		source fails; b deletes; a gets failed SkipLocal; source well; b gets 1.5 load; wait 2s; a gets 1.5 remote SkipLocal
		source fails; a gets failed key=2; wait 1s; cells 1`})
}
