package follow_test

import (
	"context"
	"errors"
	"fmt"
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

// deafen cuts off a peer from the log.
func (p *peer) deafen() { p.link.Fail(errDown) }

// A process detects that a log lost records, by the hole that they leave or by the new epoch, and
// discards what they may have covered. A frame that was stored afterwards is good.
func TestRecordsMissing(t *testing.T) {
	for name, tt := range map[string]struct {
		lose        func(*memlog.Log, memlog.Snapshot)
		gaps, bumps bool
		frames      bool // earlier frames are refused, too
	}{
		"trimmed": {
			lose: func(log *memlog.Log, _ memlog.Snapshot) { log.Trim(1) },
			gaps: true, frames: true,
		},
		"lossy failover": {
			lose:  func(log *memlog.Log, s memlog.Snapshot) { log.Restore(s) },
			bumps: true, frames: true,
		},
		"another server, nothing lost": {
			lose:  func(log *memlog.Log, _ memlog.Snapshot) { log.Restart() },
			bumps: true, frames: true,
		},
		"deleted": {
			lose:  func(log *memlog.Log, _ memlog.Snapshot) { log.Delete() },
			bumps: true, frames: true,
		},
		"meta deleted": {
			lose:  func(log *memlog.Log, _ memlog.Snapshot) { log.Delete(memlog.Meta) },
			bumps: true, frames: true,
		},
		"scopes deleted": {
			lose:  func(log *memlog.Log, _ memlog.Snapshot) { log.Delete(memlog.Scopes) },
			bumps: true, frames: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				a, b := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
				e := fencetest.New(b.Fences(), "t:n:1", "x")
				s := log.Snapshot()
				b.deafen()
				for i := range 3 {
					if err := a.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"), invalidate.Key(fencetest.KeyOf(t, "t:n:1")), invalidate.Tag("t", fmt.Sprint(i)))); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait() // the records wake b's tail, which must fail before b is healed
				tt.lose(log, s)
				a.deafen()
				if !e.Clear(b.Fences()) {
					t.Fatal("b has received the record")
				}
				b.link.Heal()
				advance(bound / 2)
				if e.Clear(b.Fences()) {
					t.Error("the entry is clear, though b missed the record")
				}
				accepts := fencetest.Accepts(b.Fences(), e.Mark, e.Hash, e.Key, e.On)
				if accepts == tt.frames {
					t.Errorf("frames from before are accepted: %v, want %v", accepts, !tt.frames)
				}
				later := fencetest.New(b.Fences(), "t:n:1", "x")
				fencetest.Check(t, b.Fences(), later, true)
				if st := b.Stats(); (tt.gaps && st.Gaps == 0) || (st.Bumps > 1) != tt.bumps {
					t.Errorf("Stats = %+v", st)
				}
			})
		})
	}
}

// A record that does not decode may have covered anything.
func TestDamagedRecord(t *testing.T) {
	for name, hurt := range map[string]func(p *invalidate.Page){
		"key":   func(p *invalidate.Page) { damage(p.Keys) },
		"scope": func(p *invalidate.Page) { damage(p.Scopes) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				a, b := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
				e := fencetest.New(b.Fences(), "t:n:1", "x")
				b.link.Corrupt(func(p invalidate.Page) invalidate.Page { hurt(&p); return p })
				if err := a.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"), invalidate.Key(fencetest.KeyOf(t, "t:n:1")))); err != nil {
					t.Fatal(err)
				}
				advance(5 * time.Millisecond)
				if e.Clear(b.Fences()) {
					t.Error("the entry has survived")
				}
				if b.Stats().Damaged == 0 {
					t.Error("not counted")
				}
				b.wantSaid(t, 1, "records do not decode")
			})
		})
	}
}

func damage(rs []invalidate.Record) {
	for i := range rs {
		rs[i].Fences, rs[i].Damaged = nil, true
	}
}

// Confirm asks the log only when necessary, and does not wait for a log that is known to be
// unreachable.
func TestConfirm(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		const patience = 150 * time.Millisecond
		origin := time.Now()
		now := func() int64 { return int64(time.Since(origin)) }
		p := newPeer(t, log, follow.Config{Origin: origin})
		calls := p.link.Calls(logtest.Sync)
		confirm := func(since int64, want error) time.Duration {
			t.Helper()
			begun := time.Now()
			if err := p.Confirm(t.Context(), since, patience); !errors.Is(err, want) {
				t.Errorf("Confirm = %v, want %v", err, want)
			}
			return time.Since(begun)
		}
		confirm(0, nil)
		if n := p.link.Calls(logtest.Sync) - calls; n != 0 {
			t.Errorf("%d calls for a lease that was good enough", n)
		}
		advance(time.Millisecond)
		confirm(now(), nil)
		if at, _ := p.Lease().Confirmed(); at != now() {
			t.Errorf("confirmed as of %d, want now, %d", at, now())
		}

		p.link.Hang(true)
		if took := confirm(now()+1, follow.ErrUnconfirmed); took != patience {
			t.Errorf("a log that hangs was waited for %v, want %v", took, patience)
		}
		advance(time.Millisecond)
		if took := confirm(now(), follow.ErrUnconfirmed); took != 0 {
			t.Errorf("and then for %v again, want not at all", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.link.Heal()
		p.link.Delay(time.Millisecond)
		advance(bound)
		if err := p.Confirm(ctx, now(), patience); !errors.Is(err, context.Canceled) {
			t.Errorf("Confirm = %v, want Canceled", err)
		}
		p.deafen()
		advance(bound)
		if took := confirm(now(), errDown); took != 0 {
			t.Errorf("a log that refuses was waited for %v, want not at all", took)
		}
	})
}

// While the log is unreachable, impatient callers do not make the follower ask more often.
func TestAbsentLogIsLeftAlone(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.deafen()
		advance(bound)
		calls := p.link.Calls(logtest.Sync)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		for ctx.Err() == nil {
			go func() {
				_ = p.Invalidate(ctx, fence.Request{Scopes: []invalidate.Scope{invalidate.Tag("t", "x")}})
			}()
			_ = p.Confirm(ctx, 1<<62, time.Millisecond)
			advance(10 * time.Millisecond)
		}
		if n := p.link.Calls(logtest.Sync) - calls; n > 24 {
			t.Errorf("%d calls within %v, want 24 at most", n, bound)
		}
	})
}

// Lag is measured by the log's clock, and not for records missed during an absence.
func TestLag(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		a, b := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		b.link.Delay(30*time.Millisecond, logtest.Tail)
		b.link.Hang(true, logtest.Sync)
		b.lags = nil
		if err := a.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))); err != nil {
			t.Fatal(err)
		}
		advance(bound)
		if len(b.lags) != 1 || b.lags[0] < 0 || b.lags[0] > 35*time.Millisecond {
			t.Errorf("lags are %v, want one of about 30ms", b.lags)
		}
	})
}

// mad panics.
type mad struct{ invalidate.Log }

func (mad) Sync(context.Context, invalidate.Cursor, invalidate.Append) (invalidate.Page, error) {
	panic("sync")
}

func (mad) Tail(context.Context, invalidate.Cursor) (invalidate.Page, error) { panic("tail") }

// A log that panics counts as unreachable.
func TestLogPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, mad{memlog.New(memlog.Config{})}, follow.Config{})
		advance(bound)
		if s := p.Stats(); s.SyncErrors == 0 || s.TailErrors == 0 || s.LeaseAge != -1 || s.LeaseLeft != 0 {
			t.Errorf("Stats = %+v", s)
		}
		if err := p.Confirm(t.Context(), 0, time.Second); !errors.Is(err, follow.ErrUnconfirmed) {
			t.Errorf("Confirm = %v", err)
		}
	})
}

// A logger that panics ends the caller's goroutine, or the program, and does not hang. The follower goes on if the
// caller recovers.
func TestLoggerPanics(t *testing.T) {
	for _, late := range []bool{false, true} { // the log has failed before, so the caller makes no round
		bubble(t, func(t *testing.T, log *memlog.Log) {
			origin := time.Now()
			p, other := newPeer(t, log, follow.Config{Origin: origin}), newPeer(t, log, follow.Config{})
			there := fencetest.New(other.Fences(), "t:n:1", "x")
			ctx := context.Background()
			if p.link.Fail(errDown, logtest.Sync); late {
				advance(bound / 2)
				var cancel context.CancelFunc
				ctx, cancel = context.WithCancel(ctx)
				cancel()
			}
			p.mu.Lock()
			p.mute = true
			p.mu.Unlock()
			func() {
				defer func() {
					if err, _ := recover().(error); !errors.Is(err, errDown) {
						t.Errorf("panicked with %v, want %v", err, errDown)
					}
				}()
				err := p.Invalidate(ctx, request(t, invalidate.Tag("t", "x")))
				t.Errorf("Invalidate = %v, want a panic", err)
			}()
			p.link.Heal()
			if advance(2 * bound); there.Clear(other.Fences()) || p.Owes() || !p.leased(origin) {
				t.Errorf("it owes %v, the lease holds %v; want the record sent", p.Owes(), p.leased(origin))
			}
		})
	}
}

// A process that starts late refuses what was stored before the first retained record, because it
// does not know the records before.
func TestStartRaisesTheFloor(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		a := newPeer(t, log, follow.Config{})
		old := fencetest.New(a.Fences(), "t:n:1", "x")
		for i := range 5 {
			if err := a.Invalidate(t.Context(), request(t, invalidate.Tag("t", fmt.Sprint(i)))); err != nil {
				t.Fatal(err)
			}
		}
		fresh := fencetest.New(a.Fences(), "t:n:1", "x")
		log.Trim(2)
		b := newPeer(t, log, follow.Config{})
		for e, want := range map[*fencetest.Entry]bool{old: false, fresh: true} {
			if got := fencetest.Accepts(b.Fences(), e.Mark, e.Hash, e.Key, e.On); got != want {
				t.Errorf("a frame as of %d is accepted: %v, want %v", e.Mark.Scope.N(), got, want)
			}
		}
	})
}
