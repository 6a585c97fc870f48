package follow_test

import (
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A read of the tail costs the log's server more than the records in it. So a process reads seldom
// while many records come, and soon while few come.
func TestTailRestsByWhatComes(t *testing.T) {
	for _, c := range []struct {
		every, longest time.Duration
		most           int
	}{
		{20 * time.Millisecond, time.Millisecond, 60}, // one read for each record
		{time.Millisecond / 2, bound / 100, 60},       // 2,000 records a second
	} {
		t.Run(c.every.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, log *logtest.Memory) {
				a, b := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
				advance(bound / 10)
				reads := b.link.Calls(logtest.Tail)
				for range int(time.Second / c.every) {
					if err := a.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))); err != nil {
						t.Fatal(err)
					}
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
