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

// Concurrent Refreshes of one key share a load that has not begun. A later Refresh starts its
// own load, because the running load may have read the source too early. The same holds for
// reads with MaxAge(0).
func TestConcurrentRefreshes(t *testing.T) {
	for name, call := range map[string]func(ctx context.Context, c things) error{
		"Refresh": func(ctx context.Context, c things) error { return c.Refresh(ctx, 1) },
		"MaxAge(0)": func(ctx context.Context, c things) error {
			_, err := c.Fetch(ctx, 1, nil, cache.MaxAge(0))
			return err
		},
	} {
		for _, remote := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, remote=%v", name, remote), func(t *testing.T) { concurrentRefreshes(t, remote, call) })
		}
	}
}

func concurrentRefreshes(t *testing.T, remote bool, call func(context.Context, things) error) {
	const callers, wait, took = 20, 10 * time.Millisecond, time.Second
	// The load is delayed for a moment, by the remote tier's answer or by another load that has
	// the only turn.
	src, tier := &source{}, faulty()
	tc := cache.TiersConfig{MaxLoads: 1}
	if remote {
		tc = cache.TiersConfig{Remote: tier}
	}
	c := with(t, open(t, tc), thingConfig{Load: src.load})
	get(t, c, 1)
	begun := src.total()
	delay := func() {
		if remote {
			tier.Delay(wait)
			return
		}
		go func() {
			_, _ = c.GetOrLoad(t.Context(), 2, func(ctx context.Context, _ int) (string, error) { return "2", nap(ctx, wait) }, cache.MaxAge(0))
		}()
		synctest.Wait()
	}
	crowdOf := func() {
		crowd(callers, func(int) {
			succeeds(t, call(t.Context(), c))
		})
	}
	src.took = took
	delay()
	crowdOf()
	if n := src.total() - begun; n < 1 || n > 2 {
		t.Errorf("%d concurrent callers: %d loads, want 1 or 2", callers, n)
	}
	// A load that has begun is too old for the next caller.
	tier.Heal()
	begun = src.total()
	first := make(chan error)
	go func() { first <- call(t.Context(), c) }()
	advance(took / 2)
	if n := src.total() - begun; n != 1 {
		t.Fatalf("%d loads have begun, want 1", n)
	}
	if !remote { // the first load has the only turn, so the callers wait together
		go crowdOf()
	} else {
		delay()
		go crowdOf()
	}
	succeeds(t, <-first)
	advance(3 * took * callers)
	if n := src.total() - begun; n < 2 || n > 3 {
		t.Errorf("%d callers after another caller's load began: %d loads in total, want 2 or 3", callers, n)
	}
	tier.Heal()
	if v := get(t, c, 1); v != fmt.Sprint("1.", src.total()) {
		t.Errorf("Get = %q, want the value of the last of %d loads", v, src.total())
	}
}

// The callers of a shared Refresh leave one by one. When the last one leaves, the load ends.
func TestSharedRefreshIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, tiertest.NewFaulty(tiertest.NewMemory())
		c := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
		get(t, c, 1)
		src.took = time.Minute / 3
		remote.Delay(10 * time.Millisecond)
		start := time.Now()
		crowd(5, func(i int) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
			defer cancel()
			wantError(t, c.Refresh(ctx, 1), "refresh", cell1, context.DeadlineExceeded)
		})
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("the last caller left after %v, want its deadline of 5s", d)
		}
		advance(100 * time.Millisecond)
		src.mu.Lock()
		defer src.mu.Unlock()
		if n := src.loads[1]; n != 2 || len(src.ctxErrs) != 1 {
			t.Errorf("%d loads, %d of them cancelled; want 2, and only the refresh cancelled", n, len(src.ctxErrs))
		}
	})
}
