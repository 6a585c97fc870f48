package follow_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A request with many thousand scopes takes several orders.

// large returns n keys, and entries of another process for the first and the last of them.
func large(t *testing.T, n int, other *peer) (keys []invalidate.Scope, ends [2]*fencetest.Entry) {
	t.Helper()
	for i := range n {
		keys = append(keys, invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("t:n:", i))))
	}
	return keys, [2]*fencetest.Entry{fencetest.New(other.Fences(), "t:n:0"), fencetest.New(other.Fences(), fmt.Sprint("t:n:", n-1))}
}

// While the log is out of reach, the cells of all orders are removed nevertheless, also if the caller's
// time is over before Config.Wait. Every order is owed, and arrives once the log is back.
func TestLargeRequestWithoutTheLog(t *testing.T) {
	const n = 20_000
	for name, fault := range faults {
		for _, patience := range []time.Duration{time.Minute, 100 * time.Millisecond} {
			t.Run(fmt.Sprint(name, " ", patience), func(t *testing.T) {
				bubble(t, func(t *testing.T, log *memlog.Log) {
					p, other := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
					keys, ends := large(t, n, other)
					fault(p.link)
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					defer cancel()
					begun := time.Now()
					err := wantPending(t, p.Invalidate(ctx, request(t, keys...)))
					if took, want := time.Since(begun), min(patience, 250*time.Millisecond); took != want || err.Pending != n {
						t.Errorf("after %v %d scopes are pending, want %v and %d", took, err.Pending, want, n)
					}
					if len(p.removed) != n {
						t.Errorf("%d cells are removed, want %d", len(p.removed), n)
					}
					p.link.Heal()
					advance(2 * bound)
					if p.Owes() || ends[0].Clear(other.Fences()) || ends[1].Clear(other.Fences()) {
						t.Error("an order has not arrived")
					}
				})
			})
		}
	}
}

// If a call is cancelled between two orders, the ones that are left are owed, and arrive.
func TestLargeRequestIsCancelled(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p, other := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		keys, ends := large(t, 20_000, other)
		p.link.Delay(30*time.Millisecond, logtest.Sync)
		ctx, cancel := context.WithTimeout(t.Context(), 80*time.Millisecond) // two records for each order
		defer cancel()
		err := wantPending(t, p.Invalidate(ctx, request(t, keys...)))
		if !errors.Is(err, context.DeadlineExceeded) || !p.Owes() || ends[0].Clear(p.Fences()) || ends[1].Clear(p.Fences()) {
			t.Errorf("Invalidate = %v, owes %v; want the context's error, a debt and fences here", err, p.Owes())
		}
		advance(bound)
		if p.Owes() || ends[0].Clear(other.Fences()) || ends[1].Clear(other.Fences()) {
			t.Error("an order has not arrived")
		}
	})
}

// A record holds so many bytes of texts. A request with more takes several records, in one order.
func TestLargeTexts(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p, other := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		var scopes []invalidate.Scope
		var entries []*fencetest.Entry
		for i := range 3000 {
			text := fmt.Sprintf("t:n:%01000d", i)
			scopes = append(scopes, invalidate.Key(fencetest.KeyOf(t, text)), invalidate.Prefix("u", fmt.Sprintf("n:%01000d", i)))
			if i%1000 == 0 {
				entries = append(entries, fencetest.New(other.Fences(), text), fencetest.New(other.Fences(), "u:n:"+text[4:]+"x"))
			}
		}
		if err := p.Invalidate(t.Context(), request(t, scopes...)); err != nil {
			t.Fatal(err)
		}
		advance(bound)
		for _, e := range entries {
			if e.Clear(other.Fences()) {
				t.Errorf("%.10s… is not invalidated", e.Key)
			}
		}
		if keys, others := log.Records(); len(keys) != 1+3 || len(others) != 1+3 {
			t.Errorf("the log has %d records of keys and %d others, want a bump and 3", len(keys), len(others))
		}
	})
}
