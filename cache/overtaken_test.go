package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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

// An invalidation comes while a load runs, so the load is repeated. All callers get the second
// load's value, also those from before. No tier keeps the first value.
func TestInvalidateDuringLoad(t *testing.T) {
	for name, scope := range scopes(t) {
		for _, remote := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, remote=%v", name, remote), func(t *testing.T) {
				src := &source{took: time.Second}
				tc := tiersOf(remote)
				tiers := open(t, tc)
				c := with(t, tiers, thingConfig{Load: src.load, Tags: tagT})
				var wg sync.WaitGroup
				for range 5 {
					wg.Go(func() {
						if v := get(t, c, 1); v == "1.1" {
							t.Error("a caller got the overtaken value, although the load was repeated")
						}
					})
				}
				synctest.Wait()
				advance(300 * time.Millisecond)
				succeeds(t, tiers.Invalidate(t.Context(), scope))
				start := time.Now()
				for range 5 {
					wg.Go(func() {
						if v := get(t, c, 1); v == "1.1" {
							t.Error("a caller from after the invalidation got the value of an earlier load")
						}
						// A caller does not wait for a flight whose value it could not get.
						// There are two exceptions. The tags are unknown until the load
						// ends. A lease in the remote tier may belong to another process.
						if d := time.Since(start); d > 1100*time.Millisecond && name != "tag" && !remote {
							t.Errorf("a caller from after the invalidation waited %v", d)
						}
					})
				}
				wg.Wait()
				if r, err := c.Fetch(t.Context(), 1, nil); r.Value == "1.1" || r.Source != cache.Local || err != nil {
					t.Errorf("Fetch afterwards = %+v, %v, want a local hit", r, err)
				}
				if n := src.total(); n > 3 {
					t.Errorf("%d loads, want at most 3", n)
				}
			})
		}
	}
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

// The load has ended and its value is being stored, or a value comes from the remote tier, when an
// invalidation comes. Callers that join now do not know its tags.
func TestInvalidateDuringFill(t *testing.T) {
	for name, scope := range scopes(t) {
		for step, op := range map[string]tiertest.Op{"fill": tiertest.Fill, "fetch": tiertest.Get} {
			bubble(t, name+", "+step, func(t *testing.T) {
				src, remote := &source{}, faulty()
				cfg := thingConfig{Load: src.load, Tags: tagT}
				if op == tiertest.Get {
					get(t, with(t, open(t, cache.TiersConfig{Remote: remote}), cfg), 1)
					advance(time.Second)
				}
				tiers := open(t, cache.TiersConfig{Remote: remote})
				c := with(t, tiers, cfg)
				remote.Delay(30*time.Millisecond, op)
				go func() { get(t, c, 1) }()
				advance(10 * time.Millisecond)
				succeeds(t, tiers.Invalidate(t.Context(), scope))
				crowd(20, func(int) {
					if v := get(t, c, 1); v != "1.2" {
						t.Errorf("a caller from after the invalidation got %q, want 1.2", v)
					}
				})
				src.wantLoads(t, 2)
			})
		}
	}
}

// A Set comes while an older load runs. No tier stores the older value.
func TestSetDuringLoad(t *testing.T) {
	for _, remote := range []bool{false, true} {
		bubble(t, fmt.Sprintf("remote=%v", remote), func(t *testing.T) {
			src := &source{took: time.Second}
			mem := tiertest.NewMemory()
			var tc cache.TiersConfig
			if remote {
				tc.Remote = mem
			}
			tiers := open(t, tc)
			c := with(t, tiers, thingConfig{Load: src.load})
			done := make(chan string)
			go func() { done <- get(t, c, 1) }()
			synctest.Wait()
			succeeds(t, c.Set(t.Context(), 1, "set"))
			wantFetch(t, c, 1, fetched{"set", cache.Local, false, nil})
			if v := <-done; v == "1.1" {
				t.Errorf("the reader from before got %q", v)
			}
			wantFetch(t, c, 1, fetched{"set", cache.Local, false, nil})
			if remote {
				d := with(t, open(t, tc), thingConfig{Load: src.load})
				wantFetch(t, d, 1, fetched{"set", cache.Remote, false, nil})
			}
			advance(10 * time.Second)
			wantFetch(t, c, 1, fetched{"set", cache.Local, false, nil})
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

// before runs f once, right before the nth message of process 0 to the remote tier or to the
// log. It returns the number of messages so far.
func (w *logged) before(n int64, f func()) (sent *atomic.Int64) {
	sent = new(atomic.Int64)
	var once sync.Once
	count := func() {
		if sent.Add(1) == n {
			once.Do(f)
		}
	}
	w.wire[0].Before(func(context.Context, tiertest.Op, []string) { count() })
	w.link[0].Before(func(_ context.Context, op logtest.Op, _ invalidate.Append) {
		if op == logtest.Sync {
			count()
		}
	})
	return sent
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

// Set replaces a value, and the claim of a load in any process.
func TestSetTakesTheClaimOfALoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{took: time.Second}
		mem := tiertest.NewMemory()
		_, cs := fleet(t, 2, mem, cache.TiersConfig{}, thingConfig{Load: src.load})
		done := make(chan string)
		go func() { done <- get(t, cs[1], 1) }()
		advance(time.Millisecond)
		succeeds(t, cs[0].Set(t.Context(), 1, "set"))
		if got := <-done; got != "1.1" {
			t.Errorf("the load's caller reads %q, want the loaded value", got)
		}
		for i := range cs {
			wantFetch(t, cs[i], 1, fetched{"set", cache.Source(2 - min(1, 1-i)), false, nil})
		}
	})
}

// When the record of a Set does not reach the log, the Set gives its claim back. Its value holds
// in its own process, and no process waits for the claim.
func TestPendingSetGivesTheClaimBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.want(t, 0, 1, "1.1")
		w.link[0].Fail(errors.New("down"))
		err := w.c[0].Set(t.Context(), 1, "set")
		if _, ok := errors.AsType[*invalidate.PendingError](err); !ok {
			t.Fatalf("Set = %v, want a PendingError", err)
		}
		if w.memory.Len() != 0 {
			t.Errorf("%d cells, want neither the old value nor a claim", w.memory.Len())
		}
		w.want(t, 0, 1, "set")
		w.link[0].Heal()
		advance(bound)
		w.want(t, 1, 1, "1.2")
	})
}
