package follow_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A caller that is cancelled while the log hangs leaves immediately, even if the log takes long. What
// it invalidates is applied here, and reaches the log when that answers again.
func TestCancelledCallerLeavesAHungLog(t *testing.T) {
	for _, b := range []time.Duration{2 * time.Second, time.Minute} {
		t.Run(b.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := logtest.NewMemory(logtest.MemoryConfig{Bound: b})
				p, q := newPeer(t, log, follow.Config{Wait: time.Hour}), newPeer(t, log, follow.Config{})
				advance(b)
				here, there := fencetest.New(p.Fences(), "t:n:1", "x"), fencetest.New(q.Fences(), "t:n:1", "x")
				p.link.Hang(true)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(10*time.Millisecond, cancel)
				begun := time.Now()
				err := p.Invalidate(ctx, request(t, invalidate.Tag("t", "x")))
				if took := time.Since(begun); took != 10*time.Millisecond {
					t.Errorf("the call took %v, want the 10ms until it was cancelled", took)
				}
				if pe, ok := errors.AsType[*invalidate.PendingError](err); !ok || pe.Pending != 1 || !errors.Is(err, context.Canceled) {
					t.Errorf("Invalidate = %v, want a PendingError of 1 scope that is Canceled", err)
				}
				if here.Clear(p.Fences()) || !p.Owes() {
					t.Error("not applied in this process, or not owed")
				}
				p.link.Heal()
				advance(b)
				if there.Clear(q.Fences()) || p.Stats().Pending != 0 {
					t.Error("the invalidation is lost")
				}
			})
		})
	}
}
