package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
)

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
