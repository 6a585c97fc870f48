package cache_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// A writer that is cancelled while the log hangs returns at once. What it invalidated is gone in
// this process, and reaches the other one when the log answers again.
func TestCancelledWriterLeavesAHungLog(t *testing.T) {
	tag := invalidate.Tag("default", "t")
	for name, write := range map[string]func(ctx context.Context, w *logged) error{
		"Set": func(ctx context.Context, w *logged) error { return w.c[0].Set(ctx, 1, "set") },
		"SetMany": func(ctx context.Context, w *logged) error {
			return w.c[0].SetMany(ctx, map[int]string{1: "set", 2: "set"})
		},
		"Delete":     func(ctx context.Context, w *logged) error { return w.c[0].Delete(ctx, 1) },
		"DeleteMany": func(ctx context.Context, w *logged) error { return w.c[0].DeleteMany(ctx, []int{1, 2}) },
		"DeleteAll":  func(ctx context.Context, w *logged) error { return w.c[0].DeleteAll(ctx) },
		"Invalidate": func(ctx context.Context, w *logged) error { return w.tiers[0].Invalidate(ctx, tag) },
		"Expire":     func(ctx context.Context, w *logged) error { return w.tiers[0].Expire(ctx, tag) },
		"Strict":     func(ctx context.Context, w *logged) error { return w.tiers[0].Invalidate(ctx, tag, invalidate.Strict) },
	} {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT})
			w.want(t, 0, 1, "1.1")
			w.want(t, 1, 1, "1.1")
			w.link[0].Hang(true)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Millisecond, cancel)
			begun := time.Now()
			err := write(ctx, w)
			if took := time.Since(begun); took > 2*time.Millisecond {
				t.Errorf("it returned after %v, want 1ms: it was cancelled then", took)
			}
			if _, pending := errors.AsType[*invalidate.PendingError](err); !pending || !errors.Is(err, context.Canceled) {
				t.Errorf("error = %v, want a PendingError that is Canceled", err)
			}
			if v := get(t, w.c[0], 1); v == "1.1" {
				t.Error("the old value is served in this process")
			}
			w.link[0].Heal()
			advance(bound)
			if v := get(t, w.c[1], 1); v == "1.1" {
				t.Error("the old value is served in the other process")
			}
		})
	}
}
