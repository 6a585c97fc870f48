package cache_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// SoftTimeout counts from the call, so it includes the time of a remote tier that hangs.
func TestSoftTimeoutOfAHungRemoteTier(t *testing.T) {
	for _, many := range []bool{false, true} {
		for _, keys := range [][]int{{1}, ints(0, 10)} {
			bubble(t, fmt.Sprintf("LoadMany=%v, %d keys", many, len(keys)), func(t *testing.T) { softTimeoutOfAHungRemoteTier(t, many, keys) })
		}
	}
}

func softTimeoutOfAHungRemoteTier(t *testing.T, many bool, keys []int) {
	const soft, timeout = 50 * time.Millisecond, 2 * time.Second
	src, remote := &source{}, faulty()
	tiers := open(t, cache.TiersConfig{Remote: remote})
	cfg := thingConfig{Load: src.load, Policy: patch{
		TTL: new(10 * time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(soft), RemoteTimeout: new(timeout),
	}}
	if many {
		cfg.LoadMany = src.loadMany
	}
	c := with(t, tiers, cfg)
	read := func(ctx context.Context) (map[int]string, error) {
		if len(keys) > 1 {
			return c.GetMany(ctx, keys)
		}
		r, err := c.Fetch(ctx, keys[0], nil)
		return map[int]string{keys[0]: r.Value}, err
	}
	if _, err := read(t.Context()); err != nil {
		t.Error(err)
	}
	advance(time.Minute)
	remote.Hang(true)
	start := time.Now()
	crowd(3, func(int) { // one caller leads
		m, err := read(t.Context())
		if m[1] != "1.1" || len(m) != len(keys) || err != nil {
			t.Errorf("%d values, the first %q, %v; want the old values", len(m), m[1], err)
		}
		if d := time.Since(start); d != soft {
			t.Errorf("the read took %v, want SoftTimeout", d)
		}
	})
	// All callers have their answers. The flight goes on and loads without the remote tier.
	advance(2 * timeout)
	src.wantLoads(t, 2*len(keys))
	if n := total(tiers).StaleOnTimeout; n != int64(3*len(keys)) {
		t.Errorf("StaleOnTimeout = %d, want %d", n, 3*len(keys))
	}
	remote.Heal()
	if m, err := read(t.Context()); m[1] != "1.2" || err != nil {
		t.Errorf("later: %q, %v, want the new value", m[1], err)
	}
}

// Without an old value SoftTimeout has no effect.
func TestSoftTimeoutOfNothingOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		c := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load, Policy: patch{
			StaleIfError: new(time.Hour), SoftTimeout: new(50 * time.Millisecond), RemoteTimeout: new(2 * time.Second),
		}})
		remote.Hang(true)
		start := time.Now()
		wantFetch(t, c, 1, fetched{"1.1", cache.Load, false, nil})
		if d := time.Since(start); d != 2*time.Second {
			t.Errorf("the read took %v, want RemoteTimeout", d)
		}
		remote.Heal()
	})
}

// Close waits for a reader's call that ends in time.
func TestCloseWaitsForRemoteCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		get(t, with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load}), 1)
		tiers := open(t, cache.TiersConfig{Remote: remote})
		c := with(t, tiers, thingConfig{Load: src.load, Policy: patch{RemoteTimeout: new(time.Minute)}})
		remote.Delay(100*time.Millisecond, tiertest.Get)
		start := time.Now()
		answered := make(chan error, 1)
		go func() { _, err := c.Get(t.Context(), 1); answered <- err }()
		synctest.Wait()
		succeeds(t, tiers.Close(context.Background()))
		if d := time.Since(start); d != 100*time.Millisecond {
			t.Errorf("Close took %v, want the 100ms of the call", d)
		}
		succeeds(t, <-answered)
	})
}
