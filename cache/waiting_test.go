package cache_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A load ran out of time, and its callers left. Its value is stored when it comes after all.
func TestLateValueIsKept(t *testing.T) {
	play(t, scene{cfg: thingConfig{Policy: patch{LoadTimeout: new(2 * time.Second)}}, steps: `
		source deaf; source takes=1m; a gets slow; took 2s; wait 58s; a gets 1.1 local`})
}

// All callers left, and the loader did not look at its context. Its value is stored in both tiers.
func TestValueOfAnAbandonedLoadIsKept(t *testing.T) {
	for _, on := range []ground{alone, paired, logged} {
		play(t, scene{name: string(on), on: on, steps: `
			source deaf; source takes=5s; a gets late timeout=1s; a many late timeout=1s key=2; wait 5s; loads 2
			a gets 1.1 local; a gets 2.1 local key=2; b gets 1.1; b gets 2.1 key=2; loads 2`})
	}
}

// A detached load goes on when its last caller has left, and later callers join it. The source is slower than its
// callers are patient: without Detached each of them begins a load, and nothing is ever stored.
func TestDetachedLoads(t *testing.T) {
	const callers = "a gets late timeout=900ms; a gets late timeout=900ms; a gets late timeout=900ms; a many late timeout=900ms key=2; "
	detached := thingConfig{Policy: patch{Detached: new(true)}}
	for _, on := range []ground{alone, paired, logged} {
		play(
			t,
			scene{name: "not detached", on: on, steps: "source takes=3s; " + callers + "wait 3s; running 0; loads 4; a peeks nothing"},
			scene{name: "detached", on: on, cfg: detached, steps: "source takes=3s; " + callers + "wait 3s; loads 2; a gets 1.1 local; a gets 2.1 local key=2"},
			scene{name: "joined", on: on, cfg: detached, steps: "source takes=3s; a gets late timeout=900ms; a gets late timeout=900ms; a gets 1.1; took 1200ms; loads 1"},
			scene{name: "LoadMany", on: on, cfg: detached, many: true, steps: "source takes=3s; " + callers + "wait 3s; loads 2; a gets 1.1 local; a gets 2.1 local key=2"},
			scene{name: "overtaken", on: on, cfg: detached, steps: "source takes=3s; a gets late timeout=900ms; a deletes; wait 6s; a gets 1.2 local"},
			scene{name: "failed", on: on, cfg: detached, steps: "source takes=3s; source fails; a gets late timeout=900ms; wait 3s; a peeks nothing"},
			scene{name: "LoadTimeout", on: on, cfg: thingConfig{Policy: patch{Detached: new(true), LoadTimeout: new(2 * time.Second)}}, steps: `
				source takes=1h; a gets late timeout=900ms; wait 1s; running 1; wait 200ms; running 0`},
			scene{name: "MaxLoads", on: on, cfg: detached, tc: cache.TiersConfig{MaxLoads: 1}, steps: `
				source takes=20s; a gets late timeout=900ms; a gets late timeout=900ms key=2; wait 18s; running 1; wait 20s; loads 1; a gets 1.1 local`},
			scene{name: "Off", on: on, cfg: thingConfig{Policy: patch{Detached: new(true), Off: new(true)}}, steps: "source takes=3s; a gets late timeout=900ms; running 0"},
			scene{name: "closed", on: on, cfg: detached, steps: "source takes=1h; a gets late timeout=900ms; a closes late; running 0"},
		)
	}
}

// A read does not wait for a Refresh, or a background refresh, of its own process if the remote tier has a value.
func TestReadsDoNotWaitForARefresh(t *testing.T) {
	for _, call := range []string{"a gets ", "a many "} {
		play(
			t,
			scene{name: call + "beside a Refresh", on: paired, steps: "b gets 1.1; source takes=5s; go a refreshes; wait 1s; " + call + "1.1; took 0s; wait 5s; " + call + "1.2; loads 2"},
			scene{name: call + "nothing there", on: paired, steps: "source takes=5s; go a refreshes; wait 1s; " + call + "1.1; took 4s-4.3s; loads 1"},
			scene{name: call + "no remote tier", on: alone, steps: "source takes=5s; go a refreshes; wait 1s; " + call + "1.1; took 4s; loads 1"},
			scene{name: call + "remote tier fails", on: paired, steps: "source takes=5s; remote fails; go a refreshes; wait 1s; " + call + "any; loads 1"},
			scene{name: call + "SkipLocal, stale", on: paired, cfg: thingConfig{Policy: patch{Stale: new(time.Hour)}}, steps: "b gets 1.1; wait 2m; source takes=5s; " +
				strings.Repeat(call+"1.1 stale SkipLocal; took 0s; wait 1s; ", 4) + "wait 2s; " + call + "1.2 SkipLocal; loads 2"},
		)
	}
}

// A loader that ignores its context keeps its slot while it runs. Otherwise MaxLoads would not
// be a bound.
func TestStuckLoadersHoldTheirSlots(t *testing.T) {
	play(t, scene{tc: cache.TiersConfig{MaxLoads: 2}, cfg: thingConfig{Policy: patch{LoadTimeout: new(time.Second)}}, steps: `
		source deaf; source takes=1h; go a gets slow key=0-1; wait 1s; source takes=0s; a gets overloaded key=5; took 1s
		a many overloaded key=6; a counts Loads.Refused=2 Loads.Calls=2; wait 1h; a gets 5.1 key=5`})
}

func TestMaxLoadsIsATrueBound(t *testing.T) {
	play(t, scene{tc: cache.TiersConfig{MaxLoads: 4}, steps: `
		source takes=1s; go a gets any key=0-19; wait 4999ms; running 4; wait 1ms; running 0; peak 4; loads 20`})
}

// A load that no caller waits for keeps its turn until its loader returns. So does a load that another one has
// begun, or has lent its turn to, and that goes on after the other one has returned.
func TestAbandonedLoadsHoldTheirTurns(t *testing.T) {
	play(t, scene{on: "alone paired", tc: cache.TiersConfig{MaxLoads: 1}, steps: `
		source deaf; source takes=1m; a gets late timeout=1s; a many late timeout=1s key=2; source takes=0s
		a gets overloaded key=3; running 1; wait 28s; running 0; a gets any key=3; loads 2`})
	for name, lent := range map[string]bool{"nested": false, "lent": true} {
		bubble(t, name, func(t *testing.T) {
			tiers := open(t, cache.TiersConfig{MaxLoads: 1})
			inner := with(t, tiers, thingConfig{Namespace: "inner", Load: func(context.Context, int) (string, error) {
				return "v", nap(context.Background(), 10*time.Second)
			}})
			outer := with(t, tiers, thingConfig{Load: func(ctx context.Context, k int) (string, error) {
				if err := nap(ctx, time.Second); err != nil || k > 1 {
					return "v", err
				}
				return inner.Get(ctx, 1)
			}})
			var wg sync.WaitGroup
			defer wg.Wait()
			start := time.Now()
			late := func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				fails(t, errOf(outer.Get(ctx, 1)), context.DeadlineExceeded, "Get")
			}
			wg.Go(late)
			synctest.Wait()
			if lent {
				wg.Go(func() { get(t, inner, 1) })
			}
			advance(3 * time.Second)
			equal(t, get(t, outer, 2), "v", "the Get of another key")
			equal(t, time.Since(start), 12*time.Second, "it had its turn, and took a second, after")
		})
	}
}

// A caller that leaves while it waits for a turn causes no load.
func TestWaiterLeavesTheQueue(t *testing.T) {
	play(t, scene{tc: cache.TiersConfig{MaxLoads: 1}, steps: `
		source takes=10s; go a gets 1.1; a gets late key=2 timeout=1s; wait 20s; loads 1`})
}

// SoftTimeout counts from the call, so it includes the time of a remote tier that hangs. The flight
// goes on and loads without that tier. Without an old value SoftTimeout has no effect.
func TestSoftTimeoutOfAHungRemoteTier(t *testing.T) {
	cfg := thingConfig{Policy: patch{
		TTL: new(10 * time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(50 * time.Millisecond), RemoteTimeout: new(2 * time.Second),
	}}
	for _, many := range []bool{false, true} {
		for _, call := range []string{"gets", "many"} {
			want := call + " 1.1 stale; "
			play(t, scene{name: fmt.Sprint(call, ", LoadMany ", many), on: paired, cfg: cfg, many: many, steps: `
				a gets 1.1; wait 1m; remote hangs; go 2 a ` + want + `a ` + want + `took 50ms
				wait 4s; loads 2; a counts Reads.StaleOnTimeout=3; remote well; a gets 1.2`})
		}
	}
	play(t, scene{name: "nothing old", on: paired, cfg: cfg, steps: "remote hangs; a gets 1.1 load; took 2s"})
}

// A claim that does not expire delays the reads of its key for LoadTimeout, once. Then one process
// replaces it. A Delete ends it at once. The reads may pause for 200 ms between two looks.
func TestClaimThatDoesNotExpire(t *testing.T) {
	cfg := thingConfig{Policy: patch{LoadTimeout: new(20 * time.Second)}}
	play(
		t,
		scene{name: "kept", on: paired, cfg: cfg, steps: `
			source takes=1s; remote claims=1h; go 10 a gets 1.1; go 10 b gets 1.1; b gets 1.1; took 21s-21.4s; loads 1`},
		scene{name: "deleted", on: paired, cfg: cfg, steps: `
			source takes=1s; remote claims=1h; go 10 a gets 1.1; go 10 b gets 1.1; wait 2s; a deletes; b gets 1.1; took 1s-1.4s; loads 1`},
	)
}

// A load that exceeds LoadTimeout fails with ErrLoadTimeout, which is also a DeadlineExceeded.
// Neither the caller's deadline nor the loader's own is an ErrLoadTimeout.
func TestErrLoadTimeout(t *testing.T) {
	fails(t, cache.ErrLoadTimeout, context.DeadlineExceeded, "ErrLoadTimeout")
	wraps := func(ctx context.Context, _ int) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("query: %w", ctx.Err())
	}
	own := func(ctx context.Context, k int) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		return wraps(ctx, k)
	}
	for _, many := range []bool{false, true} {
		for _, call := range []string{"gets ", "many "} {
			for name, tt := range map[string]struct {
				before, want string
				load         cache.Loader[int, string]
			}{
				"a loader that obeys":            {"source takes=1h", "slow", nil},
				"a loader that obeys, and wraps": {"", "slow", wraps},
				"a loader that does not obey":    {"source takes=1h; source deaf", "slow", nil},
				"the caller's deadline":          {"source takes=1h", "late timeout=1s", nil},
				"a deadline of the loader's own": {"", "late", own},
			} {
				cfg := thingConfig{Policy: patch{LoadTimeout: new(2 * time.Second)}}
				if tt.load != nil {
					cfg.Load, cfg.LoadMany = loading(tt.load, many).Load, loading(tt.load, many).LoadMany
				}
				took := map[string]string{"slow": "2s"}[tt.want]
				play(t, scene{name: fmt.Sprint(name, ", ", call, many), on: "alone paired", many: many && tt.load == nil, cfg: cfg, steps: tt.before +
					"; go 2 a " + call + tt.want + "; a " + call + tt.want + "; took " + cmp.Or(took, "1s")}) // one caller leads
			}
		}
	}
}

// ErrLoadTimeout also reaches a refresh, and a loader that reads the key that is too slow.
func TestErrLoadTimeoutElsewhere(t *testing.T) {
	play(t, scene{cfg: thingConfig{Policy: patch{LoadTimeout: new(2 * time.Second)}}, pages: &longLived, steps: `
		source deaf; source takes=1h; a refreshes slow; took 2s; a page slow key=2; took 2s`})
}

// A load runs out of time, and an invalidation overtakes it. Its callers have their answers, so
// the flight does not load again. With the race detector the test also shows that the timer's
// goroutine shares no data with the flight's.
func TestLateAndOvertaken(t *testing.T) {
	for _, batch := range []bool{false, true} {
		for _, traced := range []bool{false, true} {
			for i := range 20 { // the loader returns at its deadline or one second after it
				bubble(t, fmt.Sprintf("batch=%v, traced=%v", batch, traced), func(t *testing.T) { lateAndOvertaken(t, batch, traced, time.Duration(i%2)*time.Second) })
			}
		}
	}
}

func lateAndOvertaken(t *testing.T, batch, traced bool, linger time.Duration) {
	var loads atomic.Int64
	tc := tiersOf(true)
	if traced {
		tc.TracerProvider = sdktrace.NewTracerProvider()
	}
	tiers := open(t, tc)
	cfg := loading(func(ctx context.Context, _ int) (string, error) {
		loads.Add(1)
		<-ctx.Done()
		_ = nap(t.Context(), linger)
		invalidateTag(t, tiers, "t")
		return "late", nil
	}, batch)
	cfg.Tags, cfg.Policy = tagT, patch{LoadTimeout: new(2 * time.Second)}
	c := with(t, tiers, cfg)
	crowd(3, func(int) {
		// At the deadline the value and the error come at the same time. Either may win.
		if _, err := readBy(t.Context(), c, batch); !errors.Is(err, context.DeadlineExceeded) && (err != nil || linger > 0) {
			t.Errorf("the read ended with %v, want DeadlineExceeded", err)
		}
	})
	advance(5 * time.Second)
	equal(t, loads.Load(), 1, "loads: after the deadline no caller waits for another")
}

// When the goroutine of a load's timer stores an old value again, it runs the user's Size and
// hooks. If they panic, the process must not end, and the callers must get their answers.
func TestLateHookSurvivesPanics(t *testing.T) {
	for _, place := range []string{"Size", "OnRemoved"} {
		var late atomic.Bool
		harm := func(where string) {
			if where == place && late.Load() {
				panicHere(errSource)
			}
		}
		play(t, scene{name: place, tc: cache.TiersConfig{OnRemoved: func(cache.Entry, tier.EvictReason) { harm("OnRemoved") }}, cfg: thingConfig{
			Size: func(v string) int64 {
				defer late.Store(true) // from the second load on
				harm("Size")
				return int64(len(v))
			},
			Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour), LoadTimeout: new(2 * time.Second)},
		}, steps: "a gets 1.1; wait 1m; source takes=1h; source deaf; source fails; a gets 1.1 local stale; took 2s"})
	}
}

// unstored are loads whose value no tier keeps, each for another reason.
var unstored = map[string]struct {
	end func(ctx context.Context, tiers *cache.Tiers) (string, error)
	own patch
}{
	"failed":       {end: func(context.Context, *cache.Tiers) (string, error) { return "", errSource }},
	"cancelled":    {end: func(context.Context, *cache.Tiers) (string, error) { return "", context.Canceled }},
	"panicking":    {end: func(context.Context, *cache.Tiers) (string, error) { panicHere("loader"); return "", nil }},
	"Goexit":       {end: func(context.Context, *cache.Tiers) (string, error) { runtime.Goexit(); return "", nil }},
	"absent":       {func(context.Context, *cache.Tiers) (string, error) { return "", cache.ErrNotFound }, patch{NegativeTTL: new(time.Duration(0))}},
	"too large":    {func(context.Context, *cache.Tiers) (string, error) { return strings.Repeat("x", 2000), nil }, patch{MaxValueBytes: new(1000)}},
	"not admitted": {func(context.Context, *cache.Tiers) (string, error) { return "quick", nil }, patch{MinLoad: new(10 * time.Second)}},
	"NoStore": {end: func(ctx context.Context, _ *cache.Tiers) (string, error) {
		cache.Filling(ctx).NoStore()
		return "once", nil
	}},
	"overtaken": {end: func(ctx context.Context, tiers *cache.Tiers) (string, error) {
		return "old", tiers.Invalidate(ctx, invalidate.All())
	}},
	"unlinked": {end: func(ctx context.Context, tiers *cache.Tiers) (string, error) {
		k, err := key.Parse(cell1)
		return "old", errors.Join(err, tiers.Invalidate(ctx, invalidate.Key(k)))
	}},
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
	for name, tt := range unstored {
		for _, many := range []bool{false, true} {
			for _, rounds := range []int{1, 30} {
				for _, took := range []time.Duration{100 * time.Millisecond, time.Second} {
					bubble(t, fmt.Sprintf("%s, GetMany=%v, %d rounds, %v", name, many, rounds, took), func(t *testing.T) {
						cs := unlucky(t, 16, took, thingConfig{Policy: tt.own}, tt.end)
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
		for _, name := range []string{
			"failed", "failed, GetMany", "failed, over a value past Stale", "failed, with newcomers", "panicking", "NoStore", "cancelled",
		} {
			how, _, _ := strings.Cut(name, ",")
			bubble(t, fmt.Sprintf("%s, %v", name, took), func(t *testing.T) {
				first := strings.Contains(name, "past Stale")
				cs := unlucky(t, 9, took, thingConfig{Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour), Throttle: new(time.Duration(0))}},
					func(ctx context.Context, tiers *cache.Tiers) (string, error) {
						if first {
							return "old", nil
						}
						return unstored[how].end(ctx, tiers)
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
		source takes=700ms // a claim is renewed after 1s: at the end of a load, it might come after the mark that the load leaves
		source fails; a gets failed; b sets set; took 0s; a gets set remote
		b deletes; a gets failed SkipLocal; b deletes; source well; b gets 1.3 load; a gets 1.3 remote SkipLocal
		source fails; b deletes; a gets failed SkipLocal; source well; b gets 1.5 load; wait 2s; a gets 1.5 remote SkipLocal
		source fails; a gets failed key=2; wait 1s; cells 1`})
}
