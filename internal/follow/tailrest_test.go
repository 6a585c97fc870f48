package follow_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A read of the tail costs the log's server more than the records in it. So a process reads seldom
// while many records come for longer than a bound, and immediately while few come.
func TestTailRestsByWhatComes(t *testing.T) {
	for _, c := range []struct {
		every, longest time.Duration
		most           int
	}{
		{20 * time.Millisecond, 0, 60},          // one read for each record
		{time.Millisecond / 2, bound / 100, 60}, // 2,000 records a second
	} {
		t.Run(c.every.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				a, b := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
				advance(bound / 10)
				for range int(bound / c.every) {
					invalidateTag(t, a)
					advance(c.every)
				}
				b.lags = nil
				reads := b.link.Calls(logtest.Tail)
				for range int(time.Second / c.every) {
					invalidateTag(t, a)
					advance(c.every)
				}
				if n := b.link.Calls(logtest.Tail) - reads; n > c.most {
					t.Errorf("a second took %d reads of the tail, want %d at most", n, c.most)
				}
				for _, lag := range b.lags {
					if lag > c.longest {
						t.Fatalf("a record arrived after %v, want %v at most", lag, c.longest)
					}
				}
			})
		})
	}
}

// A process that has read few records reads a thousand without a rest, each when it comes.
func TestTailReadsAtOnceAfterARest(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		a, b := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		for range 2 {
			advance(2 * bound)
			b.lags = nil
			for range 1000 {
				invalidateTag(t, a)
				advance(300 * time.Microsecond)
			}
			if len(b.lags) < 1000 {
				t.Fatalf("%d reads for 1,000 records, want one for each", len(b.lags))
			}
			for i, lag := range b.lags {
				if lag > 0 {
					t.Fatalf("record %d arrived after %v, want at once", i, lag)
				}
			}
		}
	})
}

func invalidateTag(t *testing.T, p *peer) {
	t.Helper()
	if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))); err != nil {
		t.Fatal(err)
	}
}
