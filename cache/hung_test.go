package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
)

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
