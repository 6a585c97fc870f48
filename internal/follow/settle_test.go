package follow_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// settle takes the steps of Settle of cache.Tiers, and returns how long that took.
func (p *peer) settle(t *testing.T, origin time.Time) time.Duration {
	t.Helper()
	begun := time.Now()
	since := int64(begun.Sub(origin))
	from, err := p.Landed(t.Context(), since)
	if err == nil {
		err = p.Confirm(t.Context(), since, time.Minute)
	}
	if err == nil {
		err = p.Outwait(t.Context(), from)
	}
	if err != nil {
		t.Fatal(err)
	}
	return time.Since(begun)
}

// Settle waits for the widest bound in the fleet: another process may hold a lease of that length.
func TestSettleWaitsForTheWidestBound(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p := newPeer(t, log, follow.Config{Origin: origin})
		newPeer(t, log.Handle(5*bound), follow.Config{})
		advance(time.Millisecond)
		if took := p.settle(t, origin); took < 5*bound {
			t.Errorf("Settle took %v, want %v", took, 5*bound)
		}
		p.wantSaid(t, 1, "wider bound")
	})
}

// After an invalidation that returned, Settle takes one bound, counted from the call.
func TestSettleTakesOneBound(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p := newPeer(t, log, follow.Config{Origin: origin})
		if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))); err != nil {
			t.Fatal(err)
		}
		if took := p.settle(t, origin); took < bound || took > bound+bound/100 {
			t.Errorf("Settle took %v, want %v", took, bound)
		}
	})
}

// The wait for leases counts from the last record of the pending invalidations.
func TestSettleAfterALargeRequest(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p, other := newPeer(t, log, follow.Config{Origin: origin}), newPeer(t, log, follow.Config{})
		keys, ends := large(t, 20_000, other)
		var last time.Time
		p.link.Before(func(_ context.Context, _ logtest.Op, a invalidate.Append) {
			if len(a.Keys) > 0 {
				last = time.Now()
			}
		})
		p.link.Delay(30*time.Millisecond, logtest.Sync)
		ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond) // two records for each order
		defer cancel()
		_ = wantPending(t, p.Invalidate(ctx, request(t, keys...)))
		p.settle(t, origin)
		if waited := time.Since(last); waited < bound || p.Owes() || ends[0].Clear(other.Fences()) || ends[1].Clear(other.Fences()) {
			t.Errorf("Settle returned %v after the last record, owes %v; want %v, and every order has arrived", waited, p.Owes(), bound)
		}
	})
}

// A round that began before a pending invalidation does not carry it, although its last question confirms
// the lease. Settle waits for the next round.
func TestSettleDuringARound(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p, other := newPeer(t, log, follow.Config{Origin: origin}), newPeer(t, log, follow.Config{})
		keys, _ := large(t, 8_000, other) // two records, each with its own question
		p.link.Delay(50*time.Millisecond, logtest.Sync)
		done := make(chan error)
		go func() { done <- p.Invalidate(t.Context(), request(t, keys...)) }()
		advance(10 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		_ = wantPending(t, p.Invalidate(ctx, request(t, invalidate.Tag("t", "x"))))
		var sent time.Time
		p.link.Before(func(_ context.Context, _ logtest.Op, a invalidate.Append) {
			if len(a.Scopes) > 0 {
				sent = time.Now()
			}
		})
		p.settle(t, origin)
		if waited := time.Since(sent); sent.IsZero() || waited < bound {
			t.Errorf("Settle returned %v after the record was sent, want %v", waited, bound)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Invalidations that begin later do not make Settle wait.
func TestSettleAndLaterInvalidations(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p := newPeer(t, log, follow.Config{Origin: origin})
		go func() {
			<-time.After(bound / 2)
			p.link.Fail(errDown)
			_ = p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x")))
		}()
		if took := p.settle(t, origin); took > bound+bound/100 {
			t.Errorf("Settle took %v, want %v", took, bound)
		}
	})
}

// While an invalidation is pending, Landed ends with its context, and names the cause. If the follower is
// closed, it says so.
func TestLandedEnds(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.setRefuse(errDown)
		_ = wantPending(t, p.Invalidate(t.Context(), request(t, invalidate.Key(fencetest.KeyOf(t, "t:n:1")))))
		since := int64(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), 3*bound)
		defer cancel()
		_, err := p.Landed(ctx, since)
		if pending := wantPending(t, err); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errDown) || pending.Pending != 1 {
			t.Errorf("Landed = %v, want the errors of the context and of the last try, and 1 pending", err)
		}
		done := make(chan error)
		go func() {
			_, err := p.Landed(t.Context(), since)
			done <- err
		}()
		advance(time.Millisecond)
		p.setRefuse(nil)
		if err := p.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, follow.ErrClosed) {
			t.Errorf("Landed = %v, want ErrClosed", err)
		}
	})
}
