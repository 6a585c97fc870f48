package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
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
		source takes=1s; during 3 a invalidates SCOPE; go 4 a gets 1.3; a gets 1.3; wait 1s; cells 0
		a counts Reloads=2 Overtaken=1; a gets 1.4 load`})
}

// A Set begins before a Delete and ends after it. The Set does not undo the Delete, because its
// claim is gone.
func TestDeleteTakesTheClaimOfASet(t *testing.T) {
	play(t, scene{on: logged, steps: `
		before fill b deletes; before fill b gets 1.1 load; a sets set; a gets 1.1; b gets 1.1; a counts FillsLost=1`})
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
			w.wire[0].Fills(tiertest.FillsLost)
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
