package cache_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// The remote tier hangs. The callers' deadlines are shorter or longer than RemoteTimeout (50
// ms). A few reads fail until the breaker opens, and one fails at each trial.
func TestImpatientCallersOfAHungTier(t *testing.T) {
	for _, tt := range []struct {
		deadline time.Duration
		most     int
	}{
		{5 * time.Millisecond, 10}, {30 * time.Millisecond, 5}, {200 * time.Millisecond, 0},
	} {
		bubble(t, tt.deadline.String(), func(t *testing.T) {
			src, remote := &source{took: time.Millisecond}, faulty()
			remote.Hang(true)
			tiers := open(t, cache.TiersConfig{Remote: remote})
			c := with(t, tiers, thingConfig{Load: src.load})
			failures := 0
			for k := range 100 {
				ctx, cancel := context.WithTimeout(t.Context(), tt.deadline)
				if _, err := c.Get(ctx, k); err != nil {
					failures++
				}
				cancel()
			}
			if failures > tt.most {
				t.Errorf("%d of 100 reads fail, want at most %d", failures, tt.most)
			}
			if s := tiers.Stats().Remote.Breaker; s != "open" {
				t.Errorf("the breaker is %s, want open", s)
			}
			remote.Heal()
			advance(2 * time.Second)
			get(t, c, 1000)
			if s := tiers.Stats().Remote.Breaker; s != "closed" {
				t.Errorf("the breaker is %s after the tier recovered, want closed", s)
			}
		})
	}
}

// When the trial call of a half-open breaker is cancelled, it proves nothing. The next caller
// tries at once.
func TestCanceledTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote})
		c := with(t, tiers, thingConfig{Load: src.load})
		remote.Fail(errRemote)
		for k := range 5 {
			get(t, c, k)
		}
		remote.Heal()
		advance(1100 * time.Millisecond)
		remote.Delay(20 * time.Millisecond)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { _, _ = c.Get(ctx, 10) }()
		advance(10 * time.Millisecond)
		cancel()
		advance(20 * time.Millisecond)
		get(t, c, 11)
		if s := tiers.Stats().Remote.Breaker; s != "closed" {
			t.Errorf("the breaker is %s, want closed", s)
		}
	})
}
