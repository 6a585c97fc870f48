package follow_test

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A log or a remote tier whose call ends its goroutine, as t.FailNow does, has failed like any other. What was
// to be sent is applied here and stays pending, and it is sent once the calls return again. So is the lease
// renewed, and records come by the tail.
func TestGoexitInACall(t *testing.T) {
	for name, tt := range map[string]struct {
		ops     []logtest.Op
		cells   bool          // the cleaner's calls of Remove exit
		patient time.Duration // of the caller: zero means a context that does not end
		late    bool          // the log has failed before, so no caller leads a round
	}{
		"a round of a caller":     {ops: []logtest.Op{logtest.Sync}},
		"a round beside a caller": {ops: []logtest.Op{logtest.Sync}, patient: time.Minute},
		"a round of the syncer":   {ops: []logtest.Op{logtest.Sync}, late: true},
		"the tail":                {ops: []logtest.Op{logtest.Tail}},
		"the cleaner":             {cells: true},
		"all":                     {ops: []logtest.Op{logtest.Sync, logtest.Tail}, cells: true, patient: time.Minute, late: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				origin := time.Now()
				p, other := newPeer(t, log, follow.Config{Origin: origin}), newPeer(t, log, follow.Config{})
				key := invalidate.Key(fencetest.KeyOf(t, "t:n:1"))
				here, there := fencetest.New(p.Fences(), "t:n:1"), fencetest.New(other.Fences(), "t:n:1")
				var exits atomic.Bool
				exits.Store(true)
				p.link.Before(func(_ context.Context, op logtest.Op, _ invalidate.Append) {
					if exits.Load() && slices.Contains(tt.ops, op) {
						runtime.Goexit()
					}
				})
				if tt.late {
					advance(bound / 2)
				}
				if tt.cells {
					p.setRefuse(errDown)
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					ctx := context.Background()
					if tt.patient > 0 {
						var cancel context.CancelFunc
						ctx, cancel = context.WithTimeout(ctx, tt.patient)
						defer cancel()
					}
					_ = p.Invalidate(ctx, request(t, key))
				}()
				<-done
				p.setExit(tt.cells)
				if here.Clear(p.Fences()) {
					t.Error("the invalidation is not applied in its process")
				}
				advance(bound)
				exits.Store(false)
				p.setExit(false)
				p.setRefuse(nil)
				advance(2 * bound)
				if there.Clear(other.Fences()) || p.Owes() || p.Stats().Pending != 0 || !p.leased(origin) {
					t.Errorf("the calls return again: it owes %v, %d scopes are pending, the lease holds %v; want all sent", p.Owes(), p.Stats().Pending, p.leased(origin))
				}
				here = fencetest.New(p.Fences(), "t:n:1")
				if err := other.Invalidate(t.Context(), request(t, key)); err != nil {
					t.Fatal(err)
				}
				if advance(bound / 50); here.Clear(p.Fences()) {
					t.Error("another process's record did not come by the tail")
				}
			})
		})
	}
}

// Close says what it could not send, if the log's calls end their goroutines to the last.
func TestGoexitDuringClose(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.link.Before(func(context.Context, logtest.Op, invalidate.Append) { runtime.Goexit() })
		go func() { _ = p.Invalidate(context.Background(), request(t, invalidate.Tag("t", "x"))) }()
		advance(bound)
		begun := time.Now()
		if err := wantPending(t, p.Close(context.Background())); err.Pending != 1 || time.Since(begun) > bound {
			t.Errorf("Close = %v after %v, want 1 pending within %v", err, time.Since(begun), bound)
		}
	})
}
