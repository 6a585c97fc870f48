package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// Close without a deadline returns within one bound, even if a load that ignores its context
// hangs, or the log hangs, or both.
func TestCloseIsBounded(t *testing.T) {
	for name, tt := range map[string]struct{ log, load, down, pending bool }{
		"a load, no log":                          {load: true},
		"a load, a log":                           {load: true, log: true},
		"a log that is down, something waits":     {log: true, down: true, pending: true},
		"a load, a log that is down, all waiting": {load: true, log: true, down: true, pending: true},
	} {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{})
			tiers := w.tiers[0]
			if !tt.log {
				tiers = open(t, cache.TiersConfig{})
			}
			release := make(chan struct{})
			defer close(release)
			c := with(t, tiers, cache.Config[int, string]{Load: func(context.Context, int) (string, error) {
				<-release
				return "", nil
			}})
			if tt.load {
				go func() { _, _ = c.Get(t.Context(), 1) }()
				synctest.Wait()
			}
			if tt.down {
				w.link[0].Hang(true)
			}
			if tt.pending {
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				_ = w.tiers[0].Invalidate(ctx, invalidate.Tag("default", "t"))
			}
			closed := make(chan error, 1)
			begun := time.Now()
			go func() { closed <- tiers.Close(context.Background()) }()
			select {
			case err := <-closed:
				if took := time.Since(begun); took > bound {
					t.Errorf("Close took %v, want at most %v", took, bound)
				}
				if _, ok := errors.AsType[*invalidate.PendingError](err); ok != tt.pending {
					t.Errorf("Close = %v, which is a PendingError: %v, want %v", err, ok, tt.pending)
				}
			case <-time.After(10 * bound):
				t.Errorf("Close has not returned after %v", 10*bound)
				w.link[0].Heal()
			}
		})
	}
}

// A load that uses all the time of Close does not use the time for pending invalidations.
func TestCloseSendsWhileLoadsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.src.took = time.Hour
		go func() { _, _ = w.c[0].Get(t.Context(), 1) }()
		w.link[0].Fail(errors.New("down"))
		time.AfterFunc(bound/2, w.link[0].Heal)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_ = w.tiers[0].Invalidate(ctx, invalidate.Tag("default", "t"))
		err := w.tiers[0].Close(context.Background())
		if _, ok := errors.AsType[*invalidate.PendingError](err); ok || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close = %v, want DeadlineExceeded for the load and no PendingError", err)
		}
	})
}
