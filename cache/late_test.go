package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A load runs out of time, and an invalidation overtakes it. Its callers have their answers, so
// the flight does not load again. With the race detector the test also shows that the timer's
// goroutine shares no data with the flight's.
func TestLateAndOvertaken(t *testing.T) {
	for _, batch := range []bool{false, true} {
		for _, traced := range []bool{false, true} {
			t.Run(fmt.Sprintf("batch=%v, traced=%v", batch, traced), func(t *testing.T) {
				for i := range 20 {
					// The loader returns at its deadline or one second after it.
					linger := time.Duration(i%2) * time.Second
					synctest.Test(t, func(t *testing.T) { lateAndOvertaken(t, batch, traced, linger) })
				}
			})
		}
	}
}

func lateAndOvertaken(t *testing.T, batch, traced bool, linger time.Duration) {
	var loads [3]atomic.Int64 // by key
	tc := cache.TiersConfig{Remote: tiertest.NewMemory()}
	if traced {
		tc.TracerProvider = sdktrace.NewTracerProvider()
	}
	tiers := open(t, tc)
	load := func(ctx context.Context, keys ...int) (string, error) {
		for _, k := range keys {
			loads[k].Add(1)
		}
		<-ctx.Done()
		_ = nap(t.Context(), linger)
		invalidateTag(t, tiers, "t")
		return "late", nil
	}
	cfg := thingConfig{Load: func(ctx context.Context, k int) (string, error) { return load(ctx, k) }, Tags: tagT, Policy: patch{LoadTimeout: new(2 * time.Second)}}
	if batch {
		cfg.LoadMany = func(ctx context.Context, keys []int) (map[int]string, error) {
			m := map[int]string{} // two callers may each lead one key
			v, err := load(ctx, keys...)
			for _, k := range keys {
				m[k] = v
			}
			return m, err
		}
	}
	c := with(t, tiers, cfg)
	crowd(3, func(int) {
		var err error
		if batch {
			_, err = c.GetMany(t.Context(), []int{1, 2})
		} else {
			_, err = c.Get(t.Context(), 1)
		}
		// At the deadline the value and the error come at the same time. Either may win.
		if !errors.Is(err, context.DeadlineExceeded) && (err != nil || linger > 0) {
			t.Errorf("the read ended with %v, want DeadlineExceeded", err)
		}
	})
	advance(5 * time.Second)
	for k := range loads {
		if n := loads[k].Load(); n > 1 {
			t.Errorf("%d loads of %d, want 1: after the deadline no caller waits for another load", n, k)
		}
	}
}

// When the goroutine of a load's timer stores an old value again, it runs the user's Size and
// hooks. If they panic, the process must not end, and the callers must get their answers.
func TestLateHookSurvivesPanics(t *testing.T) {
	for _, place := range []string{"Size", "OnRemoved"} {
		bubble(t, place, func(t *testing.T) {
			var late, block atomic.Bool
			harm := func(where string) {
				if late.Load() && where == place {
					panicHere(where)
				}
			}
			release := make(chan struct{})
			tiers := open(t, cache.TiersConfig{
				OnRemoved: func(cache.Entry, tier.EvictReason) { harm("OnRemoved") },
			})
			c := with(t, tiers, thingConfig{
				Load: func(context.Context, int) (string, error) {
					if block.Load() {
						<-release
						return "", errSource
					}
					return "old", nil
				},
				Size:   func(v string) int64 { harm("Size"); return int64(len(v)) },
				Policy: patch{TTL: new(time.Second), StaleIfError: new(time.Hour), LoadTimeout: new(2 * time.Second)},
			})
			get(t, c, 1)
			advance(time.Minute)
			late.Store(true)
			block.Store(true)
			wantFetch(t, c, 1, fetched{"old", cache.Local, true, nil})
			late.Store(false)
			close(release)
			synctest.Wait()
		})
	}
}
