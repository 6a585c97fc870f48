package cache_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// An invalidation comes while a load runs, so the load is repeated. All callers get the second
// load's value, also those from before. No tier keeps the first value.
func TestInvalidateDuringLoad(t *testing.T) {
	play(t, scene{on: "alone paired", steps: `
		source takes=1s; go a gets !1.1; go a gets !1.1; wait 300ms; a invalidates SCOPE
		go a gets !1.1; go a gets !1.1; wait 3s; a gets !1.1 local; loads <=3`})
	// A caller does not wait for a flight whose value it could not get. There are two exceptions. The
	// tags are unknown until the load ends. A lease in the remote tier may belong to another process.
	for _, scope := range []string{"key", "prefix", "tenant", "everything"} {
		play(t, scene{name: "no wait: " + scope, steps: `
			source takes=1s; go a gets !1.1; wait 300ms; a invalidates ` + scope + `; a gets !1.1; took 1s`})
	}
}

// The load has ended and its value is being stored, or a value comes from the remote tier, when an
// invalidation comes. Callers that join now do not know its tags.
func TestInvalidateDuringFill(t *testing.T) {
	const crowd = "; wait 10ms; a invalidates SCOPE" + "; go a gets 1.2; go a gets 1.2; a gets 1.2; loads 2"
	play(
		t,
		scene{name: "fill", on: paired, steps: "remote fills=30ms; go a gets any" + crowd},
		scene{name: "fetch", on: paired, steps: "b gets 1.1; wait 1s; remote gets=30ms; go a gets any" + crowd},
	)
}

// A Set comes while an older load runs. No tier stores the older value. The Set takes the claim of
// a load in any process.
func TestSetDuringLoad(t *testing.T) {
	play(
		t,
		scene{name: "of this process", on: "alone paired", steps: `
			source takes=1s; go a gets !1.1; a sets set; a gets set local; wait 1s; a gets set local; b gets set; wait 10s; a gets set local`},
		scene{name: "of another", on: paired, steps: `
			source takes=1s; go b gets 1.1; wait 1ms; a sets set; wait 1s; a gets set local; b gets set remote`},
	)
}

// When the record of a Set does not reach the log, the Set gives its claim back. Its value holds
// in its own process, and no process waits for the claim.
func TestPendingSetGivesTheClaimBack(t *testing.T) {
	play(t, scene{on: logged, steps: `
		a gets 1.1; a's log fails; a sets set pending; cells 0; a gets set; a's log well; wait 2s; b gets 1.2`})
}

// When each run of a load is overtaken, the load is given up after two repeats. Callers from
// before get the last value, and nothing is stored.
func TestAlwaysOvertaken(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			mem := tiertest.NewMemory()
			tiers := open(t, cache.TiersConfig{Remote: mem})
			var loads atomic.Int64
			c := with(t, tiers, thingConfig{Tags: tagT, Load: func(ctx context.Context, _ int) (string, error) {
				n := loads.Add(1)
				_ = nap(ctx, time.Second)
				if n <= 3 {
					succeeds(t, tiers.Invalidate(ctx, scope))
				}
				return fmt.Sprint(n), nil
			}})
			crowd(5, func(int) {
				if v := get(t, c, 1); v != "3" {
					t.Errorf("a caller from before got %q, want the third load's value", v)
				}
			})
			advance(time.Second) // the mark of the last load
			if n := mem.Len(); n != 0 {
				t.Errorf("%d cells left in the remote tier", n)
			}
			if s := total(tiers); s.Reloads != 2 || s.Overtaken != 1 {
				t.Errorf("Stats = %d reloads, %d overtaken, want 2, 1", s.Reloads, s.Overtaken)
			}
			wantFetch(t, c, 1, fetched{"4", cache.Load, false, nil})
		})
	}
}

// A load that began earlier and ends later does not displace a newer value.
func TestOlderLoadEndsLater(t *testing.T) {
	for _, remote := range []bool{false, true} {
		bubble(t, fmt.Sprintf("remote=%v", remote), func(t *testing.T) {
			tc := tiersOf(remote)
			c := with(t, open(t, tc), thingConfig{})
			slow := func(ctx context.Context, _ int) (string, error) { return "old", nap(ctx, time.Second) }
			quick := func(context.Context, int) (string, error) { return "new", nil }
			go func() { _, _ = c.GetOrLoad(t.Context(), 1, slow) }()
			advance(500 * time.Millisecond)
			if v, err := c.GetOrLoad(t.Context(), 1, quick, cache.MaxAge(0)); v != "new" || err != nil {
				t.Errorf("GetOrLoad = %q, %v", v, err)
			}
			advance(time.Second)
			wantFetch(t, c, 1, fetched{"new", cache.Local, false, nil})
		})
	}
}

// In many trials with random pauses, no read that starts after Delete or Invalidate returns an
// older version.
func TestDeleteRacesOlderLoads(t *testing.T) {
	seed := seedOf(t)
	for _, remote := range []bool{false, true} {
		bubble(t, fmt.Sprintf("remote=%v", remote), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			pause := func(most int64) time.Duration {
				mu.Lock()
				defer mu.Unlock()
				return time.Duration(r.Int64N(most * int64(time.Millisecond)))
			}
			inner := tiertest.NewFaulty(tiertest.NewMemory())
			inner.Before(func(ctx context.Context, _ tiertest.Op, _ []string) { _ = nap(ctx, pause(5)) })
			tc := cache.TiersConfig{}
			if remote {
				tc.Remote = inner
			}
			tiers := open(t, tc)
			var version [8]atomic.Int64
			c := with(t, tiers, cache.Config[int, int64]{
				Tags: func(k int, _ int64) []string { return []string{fmt.Sprint("t", k)} },
				Load: func(ctx context.Context, k int) (int64, error) {
					_ = nap(ctx, pause(4))
					v := version[k].Load()
					return v, nap(ctx, pause(20))
				},
			})
			const trials = 2000
			crowd(8, func(k int) {
				for range trials / 8 {
					var readers sync.WaitGroup
					for range 3 {
						readers.Go(func() {
							_ = nap(t.Context(), pause(30))
							_, _ = c.Get(t.Context(), k)
						})
					}
					_ = nap(t.Context(), pause(20))
					want := version[k].Add(1)
					var err error
					if want%2 == 0 {
						err = c.Delete(t.Context(), k)
					} else {
						err = tiers.Invalidate(t.Context(), invalidate.Tag("default", fmt.Sprint("t", k)))
					}
					succeeds(t, err)
					for range 3 {
						readers.Go(func() {
							_ = nap(t.Context(), pause(10))
							if v, err := c.Get(t.Context(), k); v < want || err != nil {
								t.Errorf("Get(%d) = version %d, %v after the invalidation of %d (seed %d)", k, v, err, want-1, seed)
							}
						})
					}
					readers.Wait()
					if v, err := c.Get(t.Context(), k); v < want || err != nil {
						t.Errorf("Get(%d) = version %d, %v, want %d (seed %d)", k, v, err, want, seed)
					}
				}
			})
		})
	}
}

// A Delete comes at each step of a Set. In the end all processes agree, even one that starts
// after the log has forgotten both. All read the value of Set, or no process does.
func TestSetRacesDelete(t *testing.T) {
	for _, cached := range []bool{false, true} {
		for n := int64(1); n <= 6; n++ {
			bubble(t, fmt.Sprintf("cached %v, before message %d", cached, n), func(t *testing.T) {
				w := newLogged(t, thingConfig{})
				if cached {
					w.want(t, 0, 1, "1.1")
					w.want(t, 1, 1, "1.1")
				}
				sent := w.before(n, func() {
					succeeds(t, w.c[1].Delete(t.Context(), 1))
				})
				succeeds(t, w.c[0].Set(t.Context(), 1, "set"))
				if sent.Load() < n {
					t.Skipf("a Set sends %d messages", sent.Load())
				}
				w.wire[0].Before(nil)
				w.link[0].Before(nil)
				advance(bound)
				succeeds(t, w.c[1].Delete(t.Context(), 2))
				w.log.Trim(1) // the scope log never had more than one record
				late := with(t, open(t, cache.TiersConfig{Remote: w.memory, Log: w.log}), thingConfig{Load: w.src.load})
				synctest.Wait()
				fresh := get(t, late, 1)
				for i := range w.c {
					if got := get(t, w.c[i], 1); got != fresh {
						t.Errorf("process %d reads %q, and the late process reads %q", i, got, fresh)
					}
				}
			})
		}
	}
}

// A Set begins before a Delete and ends after it. The Set does not undo the Delete, because its
// claim is gone.
func TestDeleteTakesTheClaimOfASet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.wire[0].Before(func(_ context.Context, op tiertest.Op, _ []string) {
			if op != tiertest.Fill {
				return
			}
			w.wire[0].Before(nil)
			succeeds(t, w.c[1].Delete(t.Context(), 1))
			if got := get(t, w.c[1], 1); got != "1.1" {
				t.Errorf("Get after the Delete = %q, want a load", got)
			}
		})
		succeeds(t, w.c[0].Set(t.Context(), 1, "set"))
		w.want(t, 0, 1, "1.1")
		w.want(t, 1, 1, "1.1")
		if s := total(w.tiers[0]); s.FillsLost != 1 {
			t.Errorf("%d fills lost, want 1", s.FillsLost)
		}
	})
}
