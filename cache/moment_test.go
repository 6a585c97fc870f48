package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
)

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
