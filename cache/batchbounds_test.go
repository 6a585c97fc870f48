package cache_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// SoftTimeout counts once for a call, for any number of keys.
func TestGetManySoftTimeout(t *testing.T) {
	for _, many := range []bool{false, true} {
		for _, remote := range []string{"no", "a", "a hung"} {
			bubble(t, fmt.Sprintf("LoadMany=%v, %s remote tier", many, remote), func(t *testing.T) { getManySoftTimeout(t, many, remote) })
		}
	}
}

func getManySoftTimeout(t *testing.T, many bool, remote string) {
	src := &source{}
	cfg := thingConfig{Load: src.load, Policy: patch{
		TTL: new(10 * time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(50 * time.Millisecond),
	}}
	if many {
		cfg.LoadMany = src.loadMany
	}
	far, tc := faulty(), cache.TiersConfig{}
	if remote != "no" {
		tc.Remote = far
	}
	c := with(t, open(t, tc), cfg)
	keys := ints(0, 40)
	succeeds(t, errOf(c.GetMany(t.Context(), keys)))
	advance(time.Minute)
	src.took = 5 * time.Second
	far.Hang(remote == "a hung")
	start := time.Now()
	m, err := c.GetMany(t.Context(), keys)
	equal(t, time.Since(start), 50*time.Millisecond, "GetMany of 40 stale keys took")
	if len(m) != 40 || m[7] != "7.1" || err != nil {
		t.Errorf("GetMany = %d values, the seventh %q, %v; want 40 old values", len(m), m[7], err)
	}
	advance(6 * time.Second) // the loads went on
	far.Heal()
	advance(2 * time.Second)
	start = time.Now()
	m, err = c.GetMany(t.Context(), append(keys, 40)) // the last key has no old value
	equal(t, time.Since(start), 5*time.Second, "GetMany with a key that was never loaded took")
	if len(m) != 41 || m[7] != "7.2" || m[40] != "40.1" || err != nil {
		t.Errorf("GetMany = %d values, %q and %q, %v", len(m), m[7], m[40], err)
	}
}

// A command to the remote tier has at most a thousand keys. A larger one would block the server
// for too long.
func TestGetManyChunks(t *testing.T) {
	const n, most = 2500, 1000
	synctest.Test(t, func(t *testing.T) {
		remote := &batched{Faulty: faulty()}
		load := func(_ context.Context, k int) (string, error) { return fmt.Sprint(k), nil }
		cfg := thingConfig{LoadMany: ofEach(load), MaxBatch: n}
		for i, want := range []map[string]int{{"get": n, "claim": n, "fill": n}, {"get": n}} {
			c := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
			m, err := c.GetMany(t.Context(), ints(0, n))
			if len(m) != n || m[n-1] != fmt.Sprint(n-1) || err != nil {
				t.Errorf("process %d: GetMany = %d values, the last %q, %v", i, len(m), m[n-1], err)
			}
			if diff := cmp.Diff(want, remote.keys); diff != "" || remote.most > most {
				t.Errorf("process %d: calls have up to %d keys, want at most %d; in all (-want +got):\n%s", i, remote.most, most, diff)
			}
			remote.taken()
		}
	})
}

// A GetMany in chunks waits for one deadline on a remote tier that hangs.
func TestGetManyChunksOfAHungTier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		remote := &batched{Faulty: faulty()}
		remote.Hang(true)
		src := &source{}
		cfg := thingConfig{Load: src.load, Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}
		c := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
		start := time.Now()
		m, err := c.GetMany(t.Context(), ints(0, 20_000))
		if d := time.Since(start); len(m) != 20_000 || err != nil || d != 50*time.Millisecond {
			t.Errorf("GetMany = %d values, %v, after %v; want all after one RemoteTimeout", len(m), err, d)
		}
		remote.Heal()
	})
}

// Each command of a large call has its own deadline: a tier that answers every command in time answers
// all of them, although together they take longer than a RemoteTimeout.
func TestManyChunksOfASlowTier(t *testing.T) {
	const n = 20_000
	synctest.Test(t, func(t *testing.T) {
		remote, src := faulty(), &source{}
		cfg := thingConfig{LoadMany: src.loadMany, Policy: patch{RemoteTimeout: new(50 * time.Millisecond)}}
		first := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
		second := with(t, open(t, cache.TiersConfig{Remote: remote}), cfg)
		remote.Delay(20 * time.Millisecond)
		vals := map[int]string{}
		for _, k := range ints(0, n) {
			vals[k] = "set"
		}
		succeeds(t, first.SetMany(t.Context(), vals))
		m, err := second.GetMany(t.Context(), ints(0, n))
		if err != nil || !maps.Equal(m, vals) {
			t.Errorf("GetMany = %d values, %v; want what SetMany has set", len(m), err)
		}
		src.wantLoads(t, 0)

		// The first command closes a breaker that is half-open, and the others follow it.
		remote.Hang(true)
		for range 5 {
			_, _ = second.Peek(t.Context(), -1)
		}
		remote.Heal()
		remote.Delay(20 * time.Millisecond)
		advance(time.Second)
		m, err = second.GetMany(t.Context(), ints(0, n), cache.SkipLocal())
		if err != nil || !maps.Equal(m, vals) {
			t.Errorf("GetMany by a breaker that is half-open = %d values, %v; want those of the remote tier", len(m), err)
		}
		src.wantLoads(t, 0)
	})
}

// When Clone panics for one key of a GetMany, the call gives up its other keys. Their loads lose
// their last caller and are cancelled. The next read starts its own load.
func TestGetManyCloneThatPanics(t *testing.T) {
	for _, many := range []bool{false, true} {
		bubble(t, fmt.Sprint("LoadMany=", many), func(t *testing.T) { cloneThatPanics(t, many) })
	}
}

func cloneThatPanics(t *testing.T, many bool) {
	remote, src := tiertest.NewMemory(), &source{}
	other := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
	get(t, other, 1)
	var fine atomic.Bool
	src.took = time.Hour
	cfg := thingConfig{
		Load:   src.load,
		Policy: patch{LoadTimeout: new(2 * time.Hour)},
		Clone: func(v string) string {
			if !fine.Load() {
				panicHere("Clone")
			}
			return v
		},
	}
	if many {
		cfg.LoadMany = src.loadMany
	}
	c := with(t, open(t, cache.TiersConfig{Remote: remote, MaxFlights: 4}), cfg)
	// The value of 1 comes from the remote tier; the others load for an hour.
	if p := panicOf(func() { _, _ = c.GetMany(t.Context(), []int{1, 2, 3, 4}) }); p == nil {
		t.Error("GetMany does not panic when Clone panics")
	}
	synctest.Wait()
	src.mu.Lock()
	cancelled, begun := len(src.ctxErrs), src.loads[2]+src.loads[3]+src.loads[4]
	src.took = 0
	src.mu.Unlock()
	if many {
		begun = len(src.batches)
	}
	if cancelled != begun { // none began if the panic came first
		t.Errorf("%d of %d loads were cancelled when the call ended", cancelled, begun)
	}
	fine.Store(true)
	start := time.Now()
	for _, k := range []int{1, 2, 3, 4, 5, 6, 7, 8} { // more than MaxFlights
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		succeeds(t, errOf(c.Get(ctx, k)))
		cancel()
	}
	if d := time.Since(start); d > 0 {
		t.Errorf("the reads after the panic took %v, want no wait for the old loads", d)
	}
	if err := errors.Join(src.ctxErrs...); err != nil && !errors.Is(err, context.Canceled) {
		t.Errorf("the loads ended with %v, want Canceled", err)
	}
}

// A Batcher that returns too few answers counts as a failing remote tier. It costs time, but
// every read gets its answer.
func TestBatcherAnswersShort(t *testing.T) {
	for _, op := range []string{"get", "claim", "fill"} {
		bubble(t, op, func(t *testing.T) {
			src := &source{}
			log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
			remote := &batched{Faulty: faulty(), short: op}
			tiers := open(t, cache.TiersConfig{Remote: remote, Log: log})
			c := with(t, tiers, thingConfig{Load: src.load, LoadMany: src.loadMany})
			synctest.Wait()
			got, err := c.GetMany(t.Context(), []int{1, 2, 3})
			if want := map[int]string{1: "1.1", 2: "2.1", 3: "3.1"}; err != nil || !maps.Equal(got, want) {
				t.Errorf("GetMany = %v, %v; want %v", got, err, want)
			}
			err = tiers.Invalidate(t.Context(), keyScope(t, 1), keyScope(t, 2), invalidate.Hold(time.Second))
			if ae, ok := errors.AsType[*tier.AnswersError](err); (op == "get") != (err == nil) || (err != nil && !ok) {
				t.Errorf("Invalidate with Hold = %v (%v); want an AnswersError unless only GetMany returns too few answers", err, ae)
			}
			remote.set("", "")
		})
	}
}
