package follow_test

import (
	"context"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/fence/fencetest"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// The log loses its records within a hold. A process that starts then gets the hold, and everything
// that was cached since the epoch began is covered.
func TestHoldsSurviveTheLossOfTheLog(t *testing.T) {
	for name, scope := range map[string]invalidate.Scope{
		"key":    invalidate.Key(fencetest.KeyOf(t, "t:n:1")),
		"prefix": invalidate.Prefix("t", "n"),
		"tag":    invalidate.Tag("t", "x"),
		"all":    invalidate.All(),
	} {
		for event, lose := range map[string]func(*memlog.Log){
			"flushed":  func(log *memlog.Log) { log.Delete() },
			"old dump": func(log *memlog.Log) { log.Lose(1) },
		} {
			t.Run(name+", "+event, func(t *testing.T) {
				bubble(t, func(t *testing.T, log *memlog.Log) {
					p := newPeer(t, log, follow.Config{})
					advance(bound)
					if err := p.Invalidate(t.Context(), request(t, scope, invalidate.Hold(time.Minute))); err != nil {
						t.Fatal(err)
					}
					lose(log)
					q := newPeer(t, log, follow.Config{}) // it begins the epoch
					frame := fencetest.New(q.Fences(), "t:n:1", "x")
					advance(bound)
					isHeld := func(p *peer, e *fencetest.Entry) bool {
						return p.Fences().Held(e.Hash, e.Key, e.Tags, p.Fences().Now())
					}
					if !isHeld(p, frame) || !isHeld(q, frame) {
						t.Errorf("held in the process that knew the hold: %v, in the one that started within it: %v",
							isHeld(p, frame), isHeld(q, frame))
					}
					for _, f := range []*fence.Fences{p.Fences(), q.Fences()} {
						if fencetest.Accepts(f, frame.Mark, frame.Hash, frame.Key, frame.Tags) {
							t.Error("a frame of the new epoch, from before the hold came again, is accepted")
						}
					}
					if p.Owes() {
						t.Error("the hold is still owed")
					}
					advance(time.Minute)
					if isHeld(p, frame) || isHeld(q, frame) {
						t.Error("still held a minute later")
					}
				})
			})
		}
	}
}

// In a large fleet a few processes send the holds again, in few records, and not all of them. A
// process without holds appends nothing. Until a process has sent its holds, or heard them, it does
// not trust the remote tier.
func TestHoldsAreSentAgainByFew(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		const size, number = 50, 10_000
		fleet := make([]*peer, size)
		for i := range fleet {
			fleet[i] = newPeer(t, log, follow.Config{})
			advance(7 * time.Millisecond)
		}
		parts := []invalidate.Scope{invalidate.Hold(time.Minute)}
		for i := range number {
			parts = append(parts, invalidate.Tag("t", string(rune(i+1000))))
		}
		if err := fleet[0].Invalidate(t.Context(), request(t, parts...)); err != nil {
			t.Fatal(err)
		}
		advance(bound)
		log.Delete()
		owed := false
		for range 200 {
			advance(bound / 100)
			for _, p := range fleet {
				owed = owed || p.Owes()
			}
		}
		if !owed {
			t.Error("no process has ever owed its holds")
		}
		for _, p := range fleet {
			if p.Owes() || p.Stats().Pending != 0 {
				t.Error("a process still owes its holds")
			}
		}
		_, scopes := log.Records()
		const least = 1 + (number+invalidate.MaxFences-1)/invalidate.MaxFences
		if n := len(scopes); n < least || n > 5*least {
			t.Errorf("the new log has %d records, want about %d: one process's holds", n, least)
		}
		later := newPeer(t, log, follow.Config{})
		advance(bound)
		if s := later.Fences().Stats(); s.Holds != number {
			t.Errorf("a later process knows %d holds, want %d", s.Holds, number)
		}
		log.Restart() // once more
		advance(2 * bound)
		if s := later.Fences().Stats(); s.Holds != number {
			t.Errorf("after another epoch it knows %d holds, want %d", s.Holds, number)
		}
	})
}

// The log fails while the holds are sent again. They are sent when it is back.
func TestLostHoldsAreRetried(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		advance(bound)
		if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"), invalidate.Hold(time.Minute))); err != nil {
			t.Fatal(err)
		}
		p.link.Before(func(_ context.Context, _ logtest.Op, a invalidate.Append) {
			if len(a.Scopes) > 0 {
				p.deafen() // this call fails, too
			}
		})
		log.Delete()
		advance(2 * bound)
		if !p.Owes() {
			t.Error("the holds are not owed, although the log is down")
		}
		p.link.Before(nil)
		p.link.Heal()
		advance(2 * bound)
		q := newPeer(t, log, follow.Config{})
		advance(bound)
		if e := fencetest.New(q.Fences(), "t:n:1", "x"); p.Owes() || !q.Fences().Held(e.Hash, e.Key, e.Tags, q.Fences().Now()) {
			t.Error("the hold did not come again")
		}
	})
}
