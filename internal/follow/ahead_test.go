package follow_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// A log loses its last records and shows no trace of it. The processes that knew them are gone. A
// process that was cut off before knows nothing of the loss, but it reads a frame of a position
// that the log does not have. Its next round makes the log start an epoch.
func TestFrameAheadOfTheLog(t *testing.T) {
	for name, behind := range map[string]func(frame, reader *fence.Mark){
		"both":   func(_, _ *fence.Mark) {},
		"keys":   func(frame, reader *fence.Mark) { frame.Scope = reader.Scope },
		"scopes": func(frame, reader *fence.Mark) { frame.Key = reader.Key },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				origin := time.Now()
				q := newPeer(t, log, follow.Config{Origin: origin})
				frame := lose(t, log, q)
				q.link.Heal()
				advance(bound)
				behind(&frame.Mark, new(q.Fences().Capture()))
				bumps := log.Bumps()
				if !fencetest.Accepts(q.Fences(), frame.Mark, frame.Hash, frame.Key, frame.On) {
					t.Fatal("the frame is refused before it proves anything")
				}
				advance(bound / 3) // a round comes every quarter
				if n := log.Bumps() - bumps; n != 1 {
					t.Fatalf("the log started %d epochs, want 1", n)
				}
				if fencetest.Accepts(q.Fences(), frame.Mark, frame.Hash, frame.Key, frame.On) {
					t.Error("a frame of the lost history is accepted in the new epoch")
				}
				advance(3 * bound)
				if n := log.Bumps() - bumps; n != 1 {
					t.Errorf("the log started %d epochs after a while, want 1", n)
				}
				if !q.leased(origin) || q.Stats().Lapses > 1 { // one lapse while it was cut off
					t.Errorf("the lease lapsed: %+v", q.Stats())
				}
			})
		})
	}
}

// lose cuts off q, lets another process append records and end, and takes these records from the
// log without a trace. It returns a frame that the other process filled after them.
func lose(t *testing.T, log *memlog.Log, q *peer) *fencetest.Entry {
	t.Helper()
	p := newPeer(t, log, follow.Config{})
	advance(bound)
	q.deafen()
	const records = 2
	for range records {
		if err := p.Invalidate(t.Context(), request(t, invalidate.Key(fencetest.KeyOf(t, "t:n:9")), invalidate.Tag("t", "lost"))); err != nil {
			t.Fatal(err)
		}
	}
	frame := fencetest.New(p.Fences(), "t:n:1", "x")
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	log.Rewind(records)
	advance(2 * bound)
	return frame
}

// A frame may be newer than an answer that is still on its way. That is no loss. Only a question
// that was asked after the frame was accepted must bring the frame's position.
func TestFrameAheadOfAnOlderAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p, q := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		q.link.DropTail(true)
		advance(bound)
		bumps := log.Bumps()
		for range 5 {
			answered := make(chan struct{})
			q.link.After(func(ctx context.Context, op logtest.Op, _ invalidate.Append) {
				if op == logtest.Sync {
					q.link.After(nil)
					close(answered)
					<-time.After(bound / 8)
				}
			})
			<-answered
			if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "y"), invalidate.Key(fencetest.KeyOf(t, "t:n:9")))); err != nil {
				t.Fatal(err)
			}
			frame := fencetest.New(p.Fences(), "t:n:1", "x")
			if frame.Mark.Key <= q.Fences().Capture().Key || frame.Mark.Scope <= q.Fences().Capture().Scope {
				t.Fatal("the frame is not ahead: the test proves nothing")
			}
			fencetest.Check(t, q.Fences(), frame, true)
			if !fencetest.Accepts(q.Fences(), frame.Mark, frame.Hash, frame.Key, frame.On) {
				t.Fatal("a frame from ahead is refused")
			}
			advance(bound)
		}
		if n := log.Bumps() - bumps; n != 0 {
			t.Errorf("the log started %d epochs without a loss", n)
		}
		q.wantSaid(t, 0, "has lost")
	})
}

// Without a fault no epoch starts, however many processes read each other's frames, and however
// late they hear of records. Some have no tail, some wait for every answer, and a page holds few
// records.
func TestFramesAheadAreNormal(t *testing.T) {
	seed := rand.Uint64()
	synctest.Test(t, func(t *testing.T) {
		log := memlog.New(memlog.Config{Bound: bound, Limit: 3})
		t.Logf("seed %d", seed)
		rng := rand.New(rand.NewPCG(seed, 0))
		peers := make([]*peer, 12)
		for i := range peers {
			peers[i] = newPeer(t, log, follow.Config{})
			peers[i].link.DropTail(i%3 == 0)
			peers[i].link.Delay(time.Duration(i%4)*bound/40, logtest.Sync)
		}
		advance(bound)
		bumps, ahead := log.Bumps(), 0
		for n := range 3000 {
			p := peers[rng.IntN(len(peers))]
			scope := invalidate.Tag("t", fmt.Sprint(n))
			if rng.IntN(2) == 0 {
				scope = invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("t:n:", n)))
			}
			go p.Invalidate(context.Background(), request(t, scope)) //nolint:errcheck // an answer may be late
			<-time.After(time.Duration(rng.Int64N(int64(bound / 50))))
			frame := fencetest.New(peers[rng.IntN(len(peers))].Fences(), "t:n:1", "x")
			for _, q := range peers {
				if now := q.Fences().Capture(); frame.Mark.Key > now.Key || frame.Mark.Scope > now.Scope {
					ahead++
				}
				fencetest.Accepts(q.Fences(), frame.Mark, frame.Hash, frame.Key, frame.On)
			}
		}
		for _, p := range peers {
			p.link.Heal()
		}
		advance(bound)
		if ahead < 1000 {
			t.Errorf("%d frames were ahead of their readers: the test proves little", ahead)
		}
		if n := log.Bumps() - bumps; n != 0 {
			t.Errorf("the log started %d epochs without a loss", n)
		}
		for i, p := range peers {
			p.wantSaid(t, 0, "has lost")
			if s := p.Stats(); s.SyncErrors > 0 || s.Lapses > 0 {
				t.Errorf("peer %d: %+v, want no error and no lapse", i, s)
			}
		}
	})
}

// A damaged frame costs one epoch at most, and never the log: its position cannot use up the
// numbers of epochs.
func TestDamagedFrameAhead(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p := newPeer(t, log, follow.Config{Origin: origin})
		advance(bound)
		m := p.Fences().Capture()
		bumps := log.Bumps()
		far := m
		far.Key, far.Scope = invalidate.At(1<<32-1, 7), invalidate.At(1<<32-1, 7)
		fencetest.Accepts(p.Fences(), far, 1, "t:n:1", nil)
		advance(bound)
		if n := log.Bumps() - bumps; n != 0 {
			t.Errorf("a position of another epoch started %d epochs", n)
		}
		for _, foreign := range []uint64{0, m.Epoch + 2} {
			fencetest.Accepts(p.Fences(), fence.Mark{Key: m.Key + 9, Scope: m.Scope + 9, Epoch: foreign}, 1, "t:n:1", nil)
		}
		advance(bound)
		if n := log.Bumps() - bumps; n != 0 {
			t.Errorf("a frame of another epoch started %d epochs", n)
		}
		high := fence.Mark{Key: invalidate.At(m.Key.Epoch(), 1<<32-1), Scope: m.Scope, Epoch: m.Epoch}
		fencetest.Accepts(p.Fences(), high, 1, "t:n:1", nil)
		advance(3 * bound)
		if n := log.Bumps() - bumps; n != 1 {
			t.Errorf("a high position started %d epochs, want 1", n)
		}
		if s := p.Stats(); !p.leased(origin) || s.SyncErrors > 0 {
			t.Errorf("%+v, want a lease and no error", s)
		}
	})
}

// rigid is a log that starts no epoch for a caller that is ahead, against its contract.
type rigid struct{ *memlog.Log }

func (l rigid) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	if at.Epoch != 0 {
		end, err := l.Log.Sync(ctx, invalidate.Cursor{}, invalidate.Append{})
		if err != nil {
			return end, err
		}
		at.Key, at.Scope = min(at.Key, end.End.Key), min(at.Scope, end.End.Scope)
	}
	return l.Log.Sync(ctx, at, a)
}

// A log that goes on without an epoch cannot be trusted: the lease runs out.
func TestLogIgnoresThatItIsBehind(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p := newPeer(t, rigid{log}, follow.Config{Origin: origin})
		advance(bound)
		m := p.Fences().Capture()
		fencetest.Accepts(p.Fences(), fence.Mark{Key: m.Key, Scope: m.Scope + 9, Epoch: m.Epoch}, 1, "t:n:1", nil)
		calls := p.link.Calls(logtest.Sync)
		advance(2 * bound)
		if p.leased(origin) {
			t.Error("the lease holds although the log has lost records")
		}
		if n := p.link.Calls(logtest.Sync) - calls; n > 60 {
			t.Errorf("%d calls in two bounds: it does not back off", n)
		}
		p.wantSaid(t, 1, follow.ErrBehind.Error())
	})
}
