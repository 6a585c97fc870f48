package follow_test

import (
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
)

// A fleet restarts, and its log is gone. The first process to sync knows nothing, and the new epoch
// may have any number. Frames that survived elsewhere are of an unknown epoch, however high their
// positions are. (Finding V2.)
func TestFramesOfAnUnknownEpoch(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		old := newPeer(t, log, follow.Config{})
		for range 3 {
			log.Restart()
			advance(bound)
		}
		for range 5 { // far ahead of later positions
			if err := old.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))); err != nil {
				t.Fatal(err)
			}
		}
		survivor := fencetest.New(old.Fences(), "t:n:1", "x")
		if err := old.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		log.Delete()

		p, q := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		advance(bound)
		own := fencetest.New(p.Fences(), "t:n:1", "x")
		if own.Mark.Scope >= survivor.Mark.Scope {
			t.Fatalf("the new epoch is %d, the old one was %d: want it lower", own.Mark.Scope.Epoch(), survivor.Mark.Scope.Epoch())
		}
		for _, f := range []*fence.Fences{p.Fences(), q.Fences()} {
			if fencetest.Accepts(f, survivor.Mark, survivor.Hash, survivor.Key, survivor.On) {
				t.Error("a frame of an unknown epoch is accepted")
			}
			if !fencetest.Accepts(f, own.Mark, own.Hash, own.Key, own.On) {
				t.Error("a frame of this epoch is refused")
			}
		}
		if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))); err != nil {
			t.Fatal(err)
		}
		advance(bound)
		for _, e := range []*fencetest.Entry{survivor, own} {
			if fencetest.Accepts(q.Fences(), e.Mark, e.Hash, e.Key, e.On) {
				t.Errorf("a frame as of %d-%d is accepted after the invalidation", e.Mark.Scope.Epoch(), e.Mark.Scope.N())
			}
		}
	})
}

// A process that knows another history at the position where the log ends discards everything. It
// also makes the log start an epoch. So all other processes discard everything, too.
func TestAnotherHistory(t *testing.T) {
	for name, again := range map[string]int{"one record for one": 1, "three records for one": 3} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p, q := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
				advance(bound)
				p.deafen()
				q.deafen()
				p.link.Heal()
				other := invalidate.Key(fencetest.KeyOf(t, "t:n:9")) // a record in each sequence
				if err := p.Invalidate(t.Context(), request(t, other, invalidate.Tag("t", "lost"))); err != nil {
					t.Fatal(err)
				}
				synctest.Wait() // the record wakes q's tail, which must fail before q is healed
				p.deafen()
				stale := fencetest.New(p.Fences(), "t:n:2", "x")
				log.Rewind(1) // leaves no trace that the server could detect
				q.link.Heal()
				for range again {
					if err := q.Invalidate(t.Context(), request(t, other, invalidate.Tag("t", "x"))); err != nil {
						t.Fatal(err)
					}
				}
				frame := fencetest.New(q.Fences(), "t:n:3", "lost")
				bumps := log.Bumps()
				p.link.Heal()
				advance(bound)
				if stale.Clear(p.Fences()) {
					t.Error("an entry survives in the process that knows another history")
				}
				if log.Bumps() == bumps {
					t.Error("no epoch was started")
				}
				for _, f := range []*fence.Fences{p.Fences(), q.Fences()} {
					if fencetest.Accepts(f, frame.Mark, frame.Hash, frame.Key, frame.On) {
						t.Error("a frame from before the epoch is accepted")
					}
					fencetest.Check(t, f, fencetest.New(f, "t:n:1", "x"), true)
				}
			})
		})
	}
}
