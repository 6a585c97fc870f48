package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// The test writes ten times more keys than fit, by loads and by Sets. After each write the next read is a
// local hit with that value, and the bytes stay within 105 % of the budget.
func TestReadYourWrites(t *testing.T) {
	const budget = 4 << 20
	var left atomic.Int64
	tiers := open(t, cache.TiersConfig{
		Local:     local.New(local.Config{MaxBytes: budget}),
		OnRemoved: func(cache.Entry, tier.EvictReason) { left.Add(1) },
	})
	of := func(k int) []byte { return fmt.Appendf(nil, "%1000d", k) }
	c := with(t, tiers, cache.Config[int, []byte]{Load: func(_ context.Context, k int) ([]byte, error) { return of(k), nil }})
	const keys = 10 * budget / 1000
	most := int64(0)
	for k := range keys {
		if k%2 == 0 {
			get(t, c, k)
		} else {
			must(t, c.Set(t.Context(), k, of(k)))
		}
		if r, err := c.Fetch(t.Context(), k, nil); r.Source != cache.Local || string(r.Value) != string(of(k)) || err != nil {
			t.Fatalf("key %d is not a local hit right after it was written", k)
		}
		most = max(most, tiers.Stats().Local.Bytes)
	}
	if most > budget*105/100 || most < budget/2 {
		t.Errorf("up to %d bytes in use, want between half and 105 %% of %d", most, budget)
	}
	s := tiers.Stats()
	if got := left.Load() + s.Local.Entries; got != keys {
		t.Errorf("%d entries were removed and %d are in the tier, want %d in total", left.Load(), s.Local.Entries, keys)
	}
	if s.Total.Evictions.Entries != left.Load() {
		t.Errorf("Evictions = %d, but OnRemoved was called %d times", s.Total.Evictions.Entries, left.Load())
	}
	if s.Total.Evictions.Bytes < 1000*s.Total.Evictions.Entries || s.Total.Evictions.Bytes > 2000*s.Total.Evictions.Entries {
		t.Errorf("%d entries with %d bytes were evicted, want 1,000 to 2,000 bytes each", s.Total.Evictions.Entries, s.Total.Evictions.Bytes)
	}
}

func TestSet(t *testing.T) {
	play(
		t,
		scene{name: "for its TTL", on: paired, steps: `
			a sets set TTL=10s; a gets set local; b gets set remote; wait 9s; a gets set local; wait 1s; a gets 1.1 load`},
		scene{name: "over an absence", on: paired, steps: "source absent; a gets absent load; a sets born; a gets born local; b gets born remote"},
		// The key is invalidated even so, because the old value is known to be outdated.
		scene{name: "too large", on: paired, cfg: thingConfig{Policy: patch{MaxValueBytes: new(10)}}, steps: `
			a sets small; a sets much_too_large large; a gets 1.1 load; a sets x ended cancelled`},
	)
}

func TestDelete(t *testing.T) {
	play(t, scene{on: paired, steps: `
		a deletes; a gets 0.1 key=0; a gets 1.1; cells 2; a deletes; cells 1; a gets 0.1 local key=0; a gets 1.2 load
		a deletes all; a gets 0.2 load key=0`})
}

// Peek finds fresh and stale values of both tiers. It causes no load, and no remote call for a local value.
func TestPeek(t *testing.T) {
	play(t, scene{on: paired, cfg: thingConfig{Policy: swr}, steps: `
		a peeks nothing; a gets 1.1; a peeks 1.1; b peeks 1.1; b's remote fails; b peeks 1.1; wait 20s; b peeks 1.1
		loads 1; wait 1h; b peeks nothing`})
}

// MaxAge bounds the age of a value by the time of its load.
func TestMaxAge(t *testing.T) {
	play(
		t,
		scene{name: "of any tier", on: paired, steps: `
			a gets 1.1; wait 10s; a gets 1.1 local MaxAge=10s; a gets 1.2 load MaxAge=9s; a gets 1.2 local MaxAge=1s
			wait 1s; b gets 1.2 remote MaxAge=2s; wait 3s; b gets 1.3 load MaxAge=2s`},
		scene{name: "of 0, at the same instant", on: paired, steps: `
			a gets 1.1; a gets 1.2 load MaxAge=0s; b gets 1.3 load MaxAge=0s; a refreshes; loads 4`},
		scene{name: "of 0, when the load fails", cfg: thingConfig{Policy: failSafe}, steps: `
			a gets 1.1; source fails; a gets failed MaxAge=0s; a gets 1.1 local`},
		// A load that began before the call is not accepted, even if it ends after the call began.
		scene{name: "of 0, during a load", on: paired, steps: `
			source takes=1s; go a gets 1.1; wait 500ms; go a gets !1.1 load MaxAge=0s; b gets !1.1 load MaxAge=0s; wait 5s`},
	)
}

// Set and Delete may fail when their context has already ended. But the program has changed the
// source, so the old value is no longer served.
func TestWritesUnderAnEndedContext(t *testing.T) {
	for _, write := range []string{"sets set", "deletes"} {
		for _, how := range []string{"ended", "overdue"} {
			play(t, scene{name: write + " " + how, on: "alone paired logged", steps: `
				a gets 1.1; wait 1s; a ` + write + ` maybe ` + how + `; a gets !1.1; a gets !1.1; wait 4s; a gets !1.1`})
		}
	}
}

func TestClone(t *testing.T) {
	loaded := []int{1, 2, 3}
	c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, []int]{
		Load:  func(context.Context, int) ([]int, error) { return loaded, nil },
		Clone: func(v []int) []int { return append([]int(nil), v...) },
	})
	for range 3 {
		v := get(t, c, 1)
		if v[0] != 1 {
			t.Fatalf("Get = %v: a reader or the loader changed the cached value", v)
		}
		v[0] = 99
		loaded[0] = 98 // the loader may change its slice after it returned
	}
	mine := []int{7}
	must(t, c.Set(t.Context(), 2, mine))
	mine[0] = 99
	if v := get(t, c, 2); v[0] != 7 {
		t.Errorf("Get = %v: the writer changed the cached value", v)
	}
}

// Size may walk a large value. So a Set or a load calls it once for a value, and an old value that is
// served in place of a failed load keeps its size.
func TestSizeIsCalledOnce(t *testing.T) {
	for _, call := range []string{"gets", "many"} {
		for on, after := range map[ground]string{alone: "source fails; a " + call + " 1.2 stale; took 0s", paired: "loads 2"} {
			sizes := map[string]int{}
			play(t, scene{name: call, on: on, cfg: thingConfig{Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour)}, Size: func(v string) int64 {
				sizes[v]++
				return 8
			}}, steps: "a sets new key=2; a gets 1.1; a sets over; wait 2s; a deletes; a " + call + " 1.2; wait 2s; " + after})
			same(t, map[string]int{"new": 1, "1.1": 1, "over": 1, "1.2": 1}, sizes, "calls of Size by value")
		}
	}
}

// When the local tier has no room for a value and there is no other tier, Set fails. Otherwise
// the next read would not find the value.
func TestSetOfWhatTheLocalTierRefuses(t *testing.T) {
	big := strings.Repeat("x", 300<<10) // more than a fifth of the tier, less than MaxValueBytes
	for on, want := range map[ground]string{alone: "a sets BIG large; a gets !1.1 load", paired: "a sets BIG; a gets BIG remote"} {
		tc := cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1 << 20})}
		play(t, scene{on: on, tc: tc, cfg: thingConfig{Policy: patch{MaxValueBytes: new(1 << 20)}}, steps: `
			a gets 1.1; ` + strings.ReplaceAll(want, "BIG", big) + "; a sets small; a gets small local"})
	}
	c := with(t, open(t, cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1 << 20})}), thingConfig{Policy: patch{MaxValueBytes: new(1 << 20)}})
	err := c.Set(t.Context(), 1, big)
	if wantError(t, err, "set", cell1, cache.ErrTooLarge); err != nil && !strings.Contains(err.Error(), "local tier") {
		t.Errorf("%v, want an error that names the local tier", err)
	}
}

// Close waits for loads and for calls to the remote tier. When its context ends, it cancels them.
func TestClose(t *testing.T) {
	long := thingConfig{Policy: patch{LoadTimeout: new(2 * time.Hour), RemoteTimeout: new(time.Minute)}}
	play(
		t,
		scene{name: "a load", on: paired, steps: "source takes=5s; go a gets 1.1; a closes timeout=1m; took 5s; cells 1"},
		scene{name: "a remote call", on: paired, cfg: long, steps: "b gets 1.1; remote gets=100ms; go a gets 1.1 remote; a closes; took 100ms"},
		scene{name: "cancels", cfg: long, steps: `
			source takes=1h; go a gets closed; a closes late timeout=1s; took 1s; running 0; a closes`},
		scene{name: "use afterwards", steps: `
			a gets 1.1; a closes; a gets closed; a many closed; a sets v closed; a deletes closed; a expires closed; a refreshes closed
			a deletes all closed; a peeks nothing; loads 1`},
	)
}

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
	play(t, scene{on: paired, steps: `
		source takes=700ms // a claim is renewed after 1s: at the end of a load, it might come after the mark that the load leaves
		during 3 a invalidates SCOPE; go 4 a gets 1.3; a gets 1.3; wait 1s; cells 0
		a counts Loads.Repeated=2 Loads.Overtaken=1; a gets 1.4 load`})
}

// A Set begins before a Delete and ends after it. The Set does not undo the Delete, because its
// claim is gone.
func TestDeleteTakesTheClaimOfASet(t *testing.T) {
	play(t, scene{on: logged, steps: `
		before fill b deletes; before fill b gets 1.1 load; a sets set; a gets 1.1; b gets 1.1; a counts Fills.Lost=1`})
}

// A load that began earlier and ends later does not displace a newer value.
func TestOlderLoadEndsLater(t *testing.T) {
	play(t, scene{on: "alone paired", steps: `
		source takes=1s; go a gets any; wait 500ms; source takes=0s; a gets 1.2 load MaxAge=0s; wait 1s; a gets 1.2 local`})
}

// In many trials with random pauses, no read that starts after an invalidation or a write returns an
// older version, whichever call made it, even if the remote tier fails. With a log, all processes
// agree in the end.
func TestDeleteRacesOlderLoads(t *testing.T) {
	seed := seedOf(t)
	for _, on := range []ground{alone, paired, logged} {
		for _, harmed := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, faults %v", on, harmed), func(t *testing.T) { deleteRaces(t, on, harmed, seed) })
		}
	}
}

func deleteRaces(t *testing.T, on ground, harmed bool, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	draw := func(n int64) int64 {
		mu.Lock()
		defer mu.Unlock()
		return r.Int64N(n)
	}
	pause := func(most int64) time.Duration { return time.Duration(draw(most * int64(time.Millisecond))) }
	const writers, trials = 8, 1000
	var version [2 * writers]atomic.Int64 // each writer has two keys
	w := newDuo(t, on, cache.TiersConfig{}, thingConfig{
		Tags: func(k int, _ string) []string { return []string{fmt.Sprint("t", k/2)} },
		Load: func(ctx context.Context, k int) (string, error) {
			_ = nap(ctx, pause(4))
			v := version[k].Load()
			return fmt.Sprint(v), nap(ctx, pause(20))
		},
	}, asIs)
	w.wire[0].Before(func(ctx context.Context, _ tiertest.Op, _ []string) {
		_ = nap(ctx, pause(5))
		if !harmed {
			return
		}
		switch draw(20) {
		case 0:
			w.wire[0].Fail(errRemote)
		case 1:
			w.wire[0].DropFills(true)
		case 2, 3, 4:
			w.wire[0].Heal()
		}
	})
	w.link[1].Delay(20*time.Millisecond, logtest.Tail) // process 1 reads frames that are ahead of what it has heard
	ctx := t.Context()
	check := func(k int, want int64) {
		s, err := w.c[0].Get(ctx, k)
		if v, bad := strconv.ParseInt(s, 10, 64); v < want || errors.Join(err, bad) != nil {
			t.Errorf("Get(%d) = version %q, %v after the invalidation of %d (seed %d)", k, s, err, want-1, seed)
		}
	}
	crowd(writers, func(g int) {
		keys := []int{2 * g, 2*g + 1}
		for range trials / writers {
			var readers sync.WaitGroup
			for i := range 3 {
				readers.Go(func() {
					_ = nap(ctx, pause(30))
					_, _ = w.c[i%2].Get(ctx, keys[i%2])
				})
			}
			_ = nap(ctx, pause(20))
			want := version[keys[0]].Add(1)
			version[keys[1]].Store(want)
			text := fmt.Sprint(want)
			err := []func() error{
				func() error { return errors.Join(w.c[0].Delete(ctx, keys[0]), w.c[0].Delete(ctx, keys[1])) },
				func() error { return w.tiers[0].Invalidate(ctx, invalidate.Tag("default", fmt.Sprint("t", g))) },
				func() error { return w.c[0].SetMany(ctx, map[int]string{keys[0]: text, keys[1]: text}) },
				func() error { return w.c[0].DeleteMany(ctx, keys) },
			}[draw(4)]()
			if !harmed {
				succeeds(t, err)
			}
			for i := range 3 {
				readers.Go(func() {
					_ = nap(ctx, pause(10))
					check(keys[i%2], want)
				})
			}
			readers.Wait()
			check(keys[0], want)
			check(keys[1], want)
		}
	})
	w.wire[0].Before(nil)
	w.wire[0].Heal()
	w.link[1].Heal()
	if advance(2 * bound); on == logged {
		for k := range version {
			w.want(t, 1, k, fmt.Sprint(version[k].Load()))
		}
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
					return // a Set sends fewer messages, so there was no Delete
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
