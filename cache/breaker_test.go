package cache_test

import (
	"context"
	"fmt"
	"testing"
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
			equal(t, tiers.Stats().Remote.Breaker, "open", "the breaker is")
			remote.Heal()
			advance(2 * time.Second)
			get(t, c, 1000)
			equal(t, tiers.Stats().Remote.Breaker, "closed", "the breaker after the tier recovered is")
		})
	}
}

// While the log hangs, reads with short deadlines get an answer from the source. After a round
// to the log has failed, no read waits for another. No read spends more than half its time on a
// lease.
func TestHurriedReadsWhileTheLogHangs(t *testing.T) {
	for _, limit := range []time.Duration{15 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond} {
		for name, started := range map[string]bool{"from the start": false, "later": true} {
			bubble(t, fmt.Sprint(limit, " ", name), func(t *testing.T) { hurriedReads(t, limit, started) })
		}
	}
}

func hurriedReads(t *testing.T, limit time.Duration, started bool) {
	w := newLogged(t, thingConfig{})
	w.src.took = time.Millisecond
	c := w.c[0]
	w.link[0].Hang(true)
	if !started {
		tiers := open(t, cache.TiersConfig{Remote: w.wire[0], Log: w.link[0]})
		c = with(t, tiers, thingConfig{Load: w.src.load})
	}
	failed, slow, reads, begun := 0, 0, 0, time.Now()
	for ; reads < 1000; reads++ {
		var opts []cache.Option
		if reads%2 == 0 {
			opts = append(opts, cache.MaxAge(bound/10))
		}
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		asked := time.Now()
		if _, err := c.Fetch(ctx, reads, nil, opts...); err != nil {
			failed++
		}
		if asked.Sub(begun) > bound && time.Since(asked) > w.src.took {
			slow++
		}
		cancel()
		advance(7 * time.Millisecond)
	}
	if failed > 0 || slow > 0 {
		t.Errorf("of %d reads %d failed, and %d waited for the log after a round failed", reads, failed, slow)
	}
	w.link[0].Heal()
}

// A Redis that hangs stops the remote tier and the log. The breaker opens in less than a second.
// From then on reads with a quick loader are answered, even with short deadlines.
func TestHungRedisAndShortDeadlines(t *testing.T) {
	for _, patience := range []time.Duration{15 * time.Millisecond, 30 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond} {
		for _, lease := range []bool{true, false} {
			bubble(t, fmt.Sprintf("%v, lease at first %v", patience, lease), func(t *testing.T) { hungRedis(t, patience, lease) })
		}
	}
}

func hungRedis(t *testing.T, patience time.Duration, lease bool) {
	w := newLogged(t, thingConfig{})
	w.src.took = time.Millisecond
	w.want(t, 0, 1, "1.1")
	w.wire[0].Hang(true)
	w.link[0].Hang(true)
	if !lease {
		advance(2 * bound)
	}
	start := time.Now()
	opened, reads, failed := time.Duration(0), 0, 0
	for k := 2; time.Since(start) < 10*time.Second; k++ {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		_, err := w.c[0].Get(ctx, k)
		cancel()
		if opened > 0 {
			reads++
			if err != nil {
				failed++
			}
		} else if w.tiers[0].Stats().Remote.Breaker != "closed" {
			opened = time.Since(start)
		}
		if !lease && opened == 0 && err != nil {
			t.Fatalf("read %d without a lease: %v", k, err)
		}
		advance(3 * time.Millisecond)
	}
	if lease && (opened == 0 || opened > time.Second) {
		t.Errorf("the breaker opened after %v, want within a second", opened)
	}
	if failed*100 > reads {
		t.Errorf("%d of %d reads failed with the breaker open", failed, reads)
	}
	w.wire[0].Heal()
	w.link[0].Heal()
	advance(bound)
	wantFetch(t, w.c[0], 100_000, fetched{"100000.1", cache.Load, false, nil})
}
