package follow_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// ear records what OnApplied gets.
type ear struct {
	mu    sync.Mutex
	heard []invalidate.Fence
}

func (e *ear) tell(fences []invalidate.Fence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.heard = append(e.heard, fences...)
}

func (e *ear) count(s invalidate.Scope) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, f := range e.heard {
		if f.Scope == s && !f.Soft {
			n++
		}
	}
	return n
}

// While a process fails to send an invalidation, or waits for the answer, other processes
// invalidate the same thing. It hears of each of them.
func TestEventsOfOthersBesideAnOwnAppend(t *testing.T) {
	x, y := invalidate.Tag("t", "x"), invalidate.Tag("t", "y")
	for name, tt := range map[string]struct {
		fault func(p *peer)
		most  int // a lost reply makes the process hear its own record
	}{
		"healthy":       {func(*peer) {}, 1},
		"failed":        {func(p *peer) { p.link.Fail(errDown, logtest.Sync) }, 1},
		"hangs":         {func(p *peer) { p.link.Hang(true, logtest.Sync) }, 1},
		"reply is lost": {func(p *peer) { p.link.LoseReplies(errors.New("lost"), logtest.Sync) }, 100},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				var e ear
				p, q := newPeer(t, log, follow.Config{OnApplied: e.tell}), newPeer(t, log, follow.Config{})
				advance(bound)
				tt.fault(p)
				done := make(chan struct{})
				go func() {
					defer close(done)
					_ = p.Invalidate(context.Background(), request(t, x)) // may be pending
				}()
				for _, s := range []invalidate.Scope{x, y} {
					advance(time.Millisecond)
					if err := q.Invalidate(t.Context(), request(t, s)); err != nil {
						t.Error(err)
					}
				}
				<-done
				advance(bound)
				if err := q.Invalidate(t.Context(), request(t, x)); err != nil {
					t.Error(err)
				}
				p.link.Heal()
				advance(bound)
				if n := e.count(x); n < 2 || n > 1+tt.most {
					t.Errorf("heard of x %d times, want 2: the other process has invalidated it twice", n)
				}
				if n := e.count(y); n != 1 {
					t.Errorf("heard of y %d times, want once", n)
				}
				e.mu.Lock()
				defer e.mu.Unlock()
				if i, j := slices.Index(e.heard, invalidate.Fence{Scope: x}), slices.Index(e.heard, invalidate.Fence{Scope: y}); i > j {
					t.Errorf("heard in the order %v, want that of the log", e.heard)
				}
			})
		})
	}
}

// A process hears nothing of its own invalidations, also if pages end before their records.
func TestNoEventsOfOwnRecords(t *testing.T) {
	bubble(t, func(t *testing.T, _ *memlog.Log) {
		log := memlog.New(memlog.Config{Bound: bound, Limit: 2})
		var e ear
		p, q := newPeer(t, log, follow.Config{OnApplied: e.tell}), newPeer(t, log, follow.Config{})
		advance(bound)
		p.link.DropTail(true)
		for range 20 {
			if err := q.Invalidate(t.Context(), request(t, invalidate.Tag("t", "theirs"))); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "own"))); err != nil {
			t.Fatal(err)
		}
		advance(bound)
		if own, theirs := e.count(invalidate.Tag("t", "own")), e.count(invalidate.Tag("t", "theirs")); own != 0 || theirs != 20 {
			t.Errorf("heard of %d own and %d other invalidations, want 0 and 20", own, theirs)
		}
	})
}
