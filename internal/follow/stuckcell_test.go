package follow_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
)

// A cell that cannot be removed stays refused in this process, however many other keys are fenced
// until it is removed.
func TestStuckCellStaysRefused(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		old := fencetest.New(p.Fences(), "t:n:1")
		p.mu.Lock()
		p.refuse = errDown
		p.mu.Unlock()
		_ = wantPending(t, p.Invalidate(t.Context(), request(t, invalidate.Key(fencetest.KeyOf(t, old.Key)))))
		for i := range 60 {
			for j := range 10_000 {
				p.Fences().Replace(uint64(i*10_000+j+1)*0x9e3779b97f4a7c15, func() {})
			}
			advance(bound / 2)
			if fencetest.Accepts(p.Fences(), old.Mark, old.Hash, old.Key, nil) {
				t.Fatalf("after %d other fences the old cell is accepted", (i+1)*10_000)
			}
		}
		p.mu.Lock()
		p.refuse = nil
		p.mu.Unlock()
		advance(10 * bound)
	})
}
