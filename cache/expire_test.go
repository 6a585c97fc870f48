package cache_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func (w *logged) expire(t *testing.T, i int, scopes ...invalidate.Scope) {
	t.Helper()
	succeeds(t, w.tiers[i].Expire(t.Context(), scopes...))
}

// state reads k in process i and checks its value and whether it is stale.
func (w *logged) state(t *testing.T, i, k int, v string, stale bool) {
	t.Helper()
	r, err := w.c[i].Fetch(t.Context(), k, nil)
	if err != nil || r.Value != v || r.Stale != stale {
		t.Errorf("process %d reads %d: %q (stale: %v), %v; want %q (%v)", i, k, r.Value, r.Stale, err, v, stale)
	}
	synctest.Wait()
}

// Expire of any scope in one process makes the value stale in every process. It is loaded again
// once, in the background. Reads get the stale value meanwhile.
func TestExpireReachesOthers(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT, Policy: policy.Patch{Stale: new(time.Minute)}})
			w.want(t, 0, 1, "1.1")
			w.want(t, 1, 1, "1.1")
			w.expire(t, 0, scope)
			advance(5 * time.Millisecond)
			w.state(t, 1, 1, "1.1", true)
			w.state(t, 0, 1, "1.1", true)
			w.state(t, 1, 1, "1.2", false)
			w.state(t, 0, 1, "1.2", false)
			advance(time.Second)
			w.state(t, 1, 1, "1.2", false)
			w.src.wantLoads(t, 2)
		})
	}
}

// With neither Stale nor StaleIfError an expired value is a miss.
func TestExpireWithoutStale(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT, Policy: policy.Patch{Stale: new(time.Duration), StaleIfError: new(time.Duration)}})
			w.want(t, 0, 1, "1.1")
			w.want(t, 1, 1, "1.1")
			w.expire(t, 0, scope)
			w.state(t, 0, 1, "1.2", false)
			advance(5 * time.Millisecond)
			w.state(t, 1, 1, "1.2", false)
			w.src.wantLoads(t, 2)
		})
	}
}

// A frame of the remote tier that is older than an Expire is stale for every reader. This
// includes a process that never saw the key.
func TestExpiredFrames(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT, Policy: policy.Patch{Stale: new(time.Minute)}})
			w.want(t, 0, 1, "1.1")
			w.expire(t, 0, scope)
			advance(5 * time.Millisecond)
			w.state(t, 1, 1, "1.1", true)
			w.state(t, 1, 1, "1.2", false)
			w.state(t, 0, 1, "1.1", true) // the local copy
			w.state(t, 0, 1, "1.2", false)
			w.src.wantLoads(t, 2) // process 0 took the value of process 1
		})
	}
}

// Stale and StaleIfError count from the Expire, not from a later moment. This holds for a value with
// TTL policy.Forever, too.
func TestExpiredIsStaleFromThen(t *testing.T) {
	for name, scope := range scopes(t) {
		for _, ttl := range []time.Duration{time.Hour, policy.Forever} {
			for _, sie := range []time.Duration{0, time.Minute} { // StaleIfError
				bubble(t, fmt.Sprintf("%s, TTL %v, StaleIfError %v", name, ttl, sie), func(t *testing.T) {
					w := newLogged(t, thingConfig{Tags: tagT, Policy: policy.Patch{TTL: &ttl, Stale: new(time.Minute), StaleIfError: &sie}})
					w.want(t, 0, 1, "1.1")
					w.want(t, 1, 1, "1.1")
					w.src.fail(errors.New("no source"))
					w.expire(t, 0, scope)
					advance(time.Minute + sie - 10*time.Second)
					for i := range 2 {
						w.state(t, i, 1, "1.1", true) // with StaleIfError, instead of the error
					}
					advance(12 * time.Second)
					for i := range 2 {
						if r, err := w.c[i].Fetch(t.Context(), 1, nil); err == nil {
							t.Errorf("process %d still serves %q", i, r.Value)
						}
					}
				})
			}
		}
	}
}

// An invalidation wins over an Expire, whichever comes first.
func TestInvalidateWinsOverExpire(t *testing.T) {
	for _, softFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT, Policy: policy.Patch{Stale: new(time.Hour), StaleIfError: new(time.Hour)}})
			w.want(t, 0, 1, "1.1")
			w.want(t, 1, 1, "1.1")
			w.src.fail(errors.New("no source"))
			if softFirst {
				w.expire(t, 0, invalidate.Tag("default", "t"))
			}
			w.invalidate(t, 1, invalidate.Tag("default", "t"))
			if !softFirst {
				w.expire(t, 0, invalidate.Tag("default", "t"))
			}
			advance(5 * time.Millisecond)
			for i := range 2 {
				if r, err := w.c[i].Fetch(t.Context(), 1, nil); err == nil {
					t.Errorf("process %d serves %q (soft first: %v)", i, r.Value, softFirst)
				}
			}
		})
	}
}

// When an Expire overtakes a load, the loaded value is stale from the start, and is refreshed
// once. Callers from before the Expire get it. Later callers get it as stale.
func TestExpireOvertakesLoad(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT, Policy: policy.Patch{Stale: new(time.Minute)}})
			w.src.took = time.Second
			go func() { w.want(t, 0, 1, "1.1") }()
			advance(time.Second / 2)
			w.expire(t, 0, scope)
			advance(time.Second)
			w.state(t, 1, 1, "1.1", true)
			advance(2 * time.Second)
			for i := range 2 {
				if r, _ := w.c[i].Fetch(t.Context(), 1, nil); r.Value == "1.1" && !r.Stale {
					t.Errorf("process %d serves the expired value as fresh", i)
				}
			}
			advance(2 * time.Second)
			w.state(t, 0, 1, "1.2", false)
			w.state(t, 1, 1, "1.2", false)
			w.src.wantLoads(t, 2)
		})
	}
}

// A call that begins after an Expire does not get the value of a load that began before it,
// except as stale.
func TestJoinersAfterExpire(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT, Policy: policy.Patch{Stale: new(time.Duration), StaleIfError: new(time.Duration)}})
			w.src.took = time.Second
			go func() { w.want(t, 0, 1, "1.1") }()
			advance(time.Second / 2)
			w.expire(t, 0, scope)
			w.state(t, 0, 1, "1.2", false)
			advance(time.Second)
			w.state(t, 0, 1, "1.2", false)
		})
	}
}

// A value that is built from an expired part is stale, too, until the part is refreshed.
func TestExpiredParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{})
		src := &source{took: 10 * time.Second}
		parts := with(t, tiers, thingConfig{Load: src.load, Tags: tagT, Policy: policy.Patch{TTL: new(time.Hour), Stale: new(time.Hour)}})
		loads := 0
		pages, err := cache.New(tiers, cache.Config[int, string]{
			Namespace: "pages", Policy: policy.Patch{TTL: new(time.Hour), Stale: new(time.Hour)},
			Load: func(ctx context.Context, k int) (string, error) {
				loads++
				v, err := parts.Get(ctx, k)
				return "page " + v, err
			},
		})
		must(t, err)
		if v, err := pages.Get(t.Context(), 1); err != nil || v != "page 1.1" {
			t.Fatal(v, err)
		}
		must(t, tiers.Expire(t.Context(), keyScope(t, 1))) // only the part
		must(t, pages.Delete(t.Context(), 1))
		if r, err := pages.Fetch(t.Context(), 1, nil); err != nil || r.Value != "page 1.1" {
			t.Fatal(r, err) // from the stale part
		}
		for range 9 {
			advance(time.Second)
			if r, err := pages.Fetch(t.Context(), 1, nil); err != nil || r.Value != "page 1.1" || !r.Stale {
				t.Errorf("page = %+v, %v; want the stale page", r, err)
			}
			synctest.Wait()
			for range 10 {
				_, _ = pages.Get(t.Context(), 1)
				synctest.Wait()
			}
		}
		if loads > 12 {
			t.Errorf("the page was loaded %d times within 10 s, want at most 12", loads)
		}
		advance(3 * time.Second)
		_, _ = pages.Get(t.Context(), 1)
		advance(time.Second)
		if r, err := pages.Fetch(t.Context(), 1, nil); err != nil || r.Value != "page 1.2" || r.Stale {
			t.Errorf("page = %+v, %v; want the new page", r, err)
		}
	})
}

// Expire refuses Strict and Hold: stale values may still be served, and stay cached.
func TestExpireRefusesStrictAndHold(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	for _, s := range []invalidate.Scope{invalidate.Strict, invalidate.Hold(time.Second), invalidate.Tag("default", ""), {}} {
		if err := tiers.Expire(t.Context(), invalidate.All(), s); !errors.Is(err, invalidate.ErrScope) {
			t.Errorf("Expire with %v = %v, want ErrScope", s, err)
		}
	}
}

// A process that is cut off serves a value that expired elsewhere as fresh for at most one
// bound.
func TestExpireAndLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{Tags: tagT, Policy: policy.Patch{Stale: new(time.Minute)}})
		w.want(t, 1, 1, "1.1")
		advance(3 * bound)
		w.want(t, 1, 1, "1.1")
		w.link[1].Fail(errors.New("unplugged"))
		w.expire(t, 0, invalidate.Tag("default", "t"))
		advance(bound)
		w.state(t, 1, 1, "1.2", false)
	})
}

// When more keys expire than are remembered exactly, no expired value becomes fresh again.
func TestExpiryIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{})
		src := &source{}
		c := with(t, tiers, thingConfig{Load: src.load, Tags: tagT, Policy: policy.Patch{TTL: new(time.Hour), Stale: new(time.Hour)}})
		get(t, c, 1)
		must(t, tiers.Expire(t.Context(), keyScope(t, 1)))
		for i := range 700_000 {
			if i%1000 == 0 {
				synctest.Wait()
			}
			must(t, tiers.Expire(t.Context(), keyScope(t, 2+i)))
		}
		synctest.Wait()
		if r, err := c.Fetch(t.Context(), 1, nil); err != nil || r.Value == "1.1" && !r.Stale {
			t.Errorf("Fetch = %+v, %v; want a stale value or a new one", r, err)
		}
	})
}

// Without a log, Expire of many keys takes three round trips, and not three for each key. A key
// whose node fails does not stop the others.
func TestExpireOfManyKeysTakesThreeRoundTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n, trip = 500, 10 * time.Millisecond
		wire := tiertest.NewFaulty(tiertest.NewMemory())
		src := &source{}
		tiers, c := fleet(t, 2, wire, cache.TiersConfig{}, thingConfig{Load: src.load, Policy: patch{Stale: new(time.Hour)}})
		var keys []int
		var scopes []invalidate.Scope
		for k := range n {
			keys, scopes = append(keys, k), append(scopes, keyScope(t, k))
		}
		if _, err := c[0].GetMany(t.Context(), keys); err != nil {
			t.Fatal(err)
		}
		down := errors.New("the node hangs")
		wire.FailKeys(down, keyScope(t, 7).Text())
		wire.Delay(trip)
		begun := time.Now()
		if err := tiers[0].Expire(t.Context(), scopes...); !errors.Is(err, down) {
			t.Errorf("Expire = %v, want the error of the failing key", err)
		}
		if took := time.Since(begun); took > 4*trip {
			t.Errorf("Expire of %d keys took %v, want about three round trips of %v", n, took, trip)
		}
		wire.Heal()
		wire.FailKeys(nil, keyScope(t, 7).Text())
		for k := range n {
			r, err := c[1].Fetch(t.Context(), k, nil)
			if err != nil || r.Stale != (k != 7) {
				t.Errorf("key %d in another process: stale %v, %v; want the others stale, and not 7", k, r.Stale, err)
			}
		}
	})
}

// A Reader judges entries as of its Moment, in Get and in GetMany.
func TestMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads := 0
		c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, int]{
			Namespace: "n:v1",
			Load:      func(context.Context, int) (int, error) { loads++; return loads, nil },
			Policy:    policy.Patch{TTL: new(time.Second), Jitter: new(0.0)},
		})
		get := func(m cache.Moment) (one, many int) {
			t.Helper()
			one, err := c.At(m).Get(t.Context(), 1)
			all, err2 := c.At(m).GetMany(t.Context(), []int{1})
			must(t, errors.Join(err, err2))
			return one, all[1]
		}
		if one, many := get(cache.Now()); one != 1 || many != 1 {
			t.Fatalf("Get, GetMany = %d, %d, want 1", one, many)
		}
		m := cache.Now()
		advance(2 * time.Second)
		if one, many := get(m); one != 1 || many != 1 {
			t.Errorf("as of a moment before the TTL ended: %d, %d, want 1", one, many)
		}
		if one, many := get(cache.Moment{}); one != 2 || many != 2 {
			t.Errorf("as of the zero Moment: %d, %d, want 2", one, many)
		}
		// A value that this process invalidated is not served as of any moment.
		must(t, c.Delete(t.Context(), 1))
		if one, many := get(m); one != 3 || many != 3 {
			t.Errorf("after Delete: %d, %d, want 3", one, many)
		}
		// A value that this process expired is not fresh.
		advance(time.Millisecond)
		must(t, c.Expire(t.Context(), 1))
		if one, many := get(cache.Now()); one != 4 || many != 4 {
			t.Errorf("after Expire: %d, %d, want 4", one, many)
		}
	})
	var zero cache.Cache[int, int]
	if _, err := zero.At(cache.Now()).Get(t.Context(), 1); err == nil {
		t.Error("Get on a zero Cache succeeded")
	}
}

// A value that this process expired is not fresh, even as of a moment before the Expire.
func TestMomentBeforeExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, int]{
			Namespace: "n:v1",
			Load:      func(context.Context, int) (int, error) { n++; return n, nil },
			Policy:    policy.Patch{TTL: new(time.Hour)},
		})
		for want, get := range []func(cache.Moment) (int, error){
			func(m cache.Moment) (int, error) {
				all, err := c.At(m).GetMany(t.Context(), []int{1})
				return all[1], err
			},
			func(m cache.Moment) (int, error) { return c.At(m).Get(t.Context(), 1) },
		} {
			_, err := c.Get(t.Context(), 1)
			must(t, err)
			m := cache.Now()
			advance(time.Second)
			must(t, c.Expire(t.Context(), 1))
			advance(time.Second)
			if v, err := get(m); v != want+2 || err != nil {
				t.Errorf("as of a moment before Expire: %d, %v, want %d", v, err, want+2)
			}
		}
	})
}

// TestMomentKeepsTheBound cuts a process off from the log. The process serves a value that
// another process invalidated only as of moments within the bound.
func TestMomentKeepsTheBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := logtest.NewMemory(logtest.MemoryConfig{})
		link := logtest.NewFaulty(log)
		n := 0
		cfg := cache.Config[int, int]{Namespace: "n:v1", Load: func(context.Context, int) (int, error) { n++; return n, nil }}
		a := with(t, open(t, cache.TiersConfig{Log: log}), cfg)
		b := with(t, open(t, cache.TiersConfig{Log: link}), cfg)
		for range 2 {
			get(t, b, 1)
			advance(log.Bound()) // after a bound only the lease makes the value valid
		}
		was := n
		link.Fail(errors.New("cut"))
		must(t, a.Delete(t.Context(), 1))
		before := cache.Now()
		advance(log.Bound() + log.Bound()/1000)
		after := cache.Now()
		if v, err := b.At(before).Get(t.Context(), 1); v != was || err != nil {
			t.Errorf("as of the invalidation: %d, %v, want the old value %d", v, err, was)
		}
		if v, err := b.At(after).Get(t.Context(), 1); v == was || err != nil {
			t.Errorf("as of a bound later: %d, %v, want a new value", v, err)
		}
	})
}

// TestForeverAndExpire expires entries with TTL policy.Forever, which need no clock.
func TestForeverAndExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, int]{
			Namespace: "n:v1",
			Load:      func(context.Context, int) (int, error) { n++; return n, nil },
			Policy:    policy.Patch{TTL: new(policy.Forever), Stale: new(time.Minute)},
		})
		want := func(v int, when string) {
			t.Helper()
			if got, err := c.Get(t.Context(), 1); got != v || err != nil {
				t.Errorf("%s: %d, %v, want %d", when, got, err, v)
			}
			synctest.Wait()
		}
		want(1, "at first")
		advance(1000 * time.Hour)
		want(1, "after a long time")
		must(t, c.Expire(t.Context(), 1))
		want(1, "expired, and stale")
		want(2, "refreshed")
		advance(1000 * time.Hour)
		must(t, c.Expire(t.Context(), 1))
		advance(2 * time.Minute)
		want(3, "expired for longer than Stale")
		must(t, c.Delete(t.Context(), 1))
		want(4, "deleted")
	})
}
