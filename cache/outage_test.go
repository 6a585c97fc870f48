package cache_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// writes are the calls that wait for the log.
var writes = map[string]func(*testing.T, *cache.Tiers, things) error{
	"Set":        func(t *testing.T, _ *cache.Tiers, c things) error { return c.Set(t.Context(), 1, time.Now().String()) },
	"Delete":     func(t *testing.T, _ *cache.Tiers, c things) error { return c.Delete(t.Context(), 1) },
	"DeleteAll":  func(t *testing.T, _ *cache.Tiers, c things) error { return c.DeleteAll(t.Context()) },
	"Invalidate": func(t *testing.T, ts *cache.Tiers, _ things) error { return ts.Invalidate(t.Context(), keyScope(t, 1)) },
	"Strict": func(t *testing.T, ts *cache.Tiers, _ things) error {
		return ts.Invalidate(t.Context(), keyScope(t, 1), invalidate.Strict)
	},
}

// During an outage of the log a call returns a PendingError after InvalidateWait. This process
// no longer serves the invalidated value.
func TestInvalidateWait(t *testing.T) {
	for name, write := range writes {
		for wait, want := range map[time.Duration]time.Duration{
			0: 250 * time.Millisecond, 20 * time.Millisecond: 20 * time.Millisecond, 3 * time.Second: 3 * time.Second,
		} {
			bubble(t, fmt.Sprint(name, " ", wait), func(t *testing.T) {
				link := logtest.NewFaulty(logtest.NewMemory(logtest.MemoryConfig{Bound: bound}))
				tiers := open(t, cache.TiersConfig{Log: link, InvalidateWait: wait})
				src := &source{}
				c := with(t, tiers, thingConfig{Load: src.load})
				must(t, tiers.Ready(t.Context()))
				down := errors.New("down")
				link.Fail(down)
				for range 3 {
					old, begun := get(t, c, 1), time.Now()
					err := write(t, tiers, c)
					if _, ok := errors.AsType[*invalidate.PendingError](err); !ok || !errors.Is(err, down) || time.Since(begun) != want {
						t.Errorf("%v after %v, want a PendingError and its cause after %v", err, time.Since(begun), want)
					}
					if now := get(t, c, 1); now == old {
						t.Errorf("a read after the call returned %q", now)
					}
					advance(bound)
				}
				link.Heal()
				advance(time.Second)
				if n := tiers.Stats().Log.Pending; n != 0 {
					t.Errorf("%d pending a second after the outage, want 0", n)
				}
			})
		}
	}
}
