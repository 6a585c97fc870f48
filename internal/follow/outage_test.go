package follow_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// faults are the ways in which a log fails to answer.
var faults = map[string]func(*logtest.Faulty){
	"down":    func(f *logtest.Faulty) { f.Fail(errDown) },
	"hanging": func(f *logtest.Faulty) { f.Hang(true) },
}

// A call waits for the log as long as Config.Wait says, counted from its start. It makes no
// difference which goroutine makes the round.
func TestWaitIsBounded(t *testing.T) {
	for name, fault := range faults {
		for _, wait := range []time.Duration{0, bound / 100, 10 * bound} {
			t.Run(fmt.Sprint(name, " ", wait), func(t *testing.T) {
				bubble(t, func(t *testing.T, log *memlog.Log) {
					p := newPeer(t, log, follow.Config{Wait: wait})
					want := wait
					if want == 0 {
						want = 250 * time.Millisecond
					}
					fault(p.link)
					var wg sync.WaitGroup
					for range 5 {
						for i := range 3 {
							wg.Go(func() {
								e, begun := fencetest.New(p.Fences(), "t:n:1", "x"), time.Now()
								_ = wantPending(t, p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"), invalidate.Tag("t", fmt.Sprint(i)))))
								if took := time.Since(begun); took != want || !p.Owes() || e.Clear(p.Fences()) {
									t.Errorf("returned after %v, owes %v; want %v and a debt and the fence", took, p.Owes(), want)
								}
							})
						}
						wg.Wait()
						advance(bound / 3)
					}
				})
			})
		}
	}
}

// An order that came too late for a failing round keeps its own error, which may name its keys.
func TestFailingRoundKeepsOtherErrors(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.deafen()
		p.link.Delay(30 * time.Millisecond)
		var wg sync.WaitGroup
		defer wg.Wait()
		wg.Go(func() {
			_ = wantPending(t, p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x")))) // its round fails after 30 ms
		})
		advance(10 * time.Millisecond)
		refused := errors.New("the remote tier refuses")
		p.setRefuse(refused)
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Millisecond)
		defer cancel()
		if err := p.Invalidate(ctx, request(t, invalidate.Key(fencetest.KeyOf(t, "t:n:1")))); !errors.Is(wantPending(t, err), refused) {
			t.Errorf("after the round failed: %v, want the error of the remote tier", err)
		}
		p.setRefuse(nil)
	})
}

// Calls to a distant, healthy log wait for its answer and get it.
func TestFarLog(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.link.Delay(120*time.Millisecond, logtest.Sync)
		for i := range 200 {
			advance(time.Duration(i) * time.Millisecond)
			if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))); err != nil {
				t.Fatal(err)
			}
		}
		if s := p.Stats(); s.SyncErrors != 0 || s.Lapses != 0 {
			t.Errorf("Stats = %+v, want no errors", s)
		}
	})
}

// A log that is slower than callers wait does not count as unreachable: its lease lives, and its
// invalidations arrive.
func TestSlowerThanCallersWait(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p := newPeer(t, log, follow.Config{Origin: origin})
		other := newPeer(t, log, follow.Config{})
		p.link.Delay(300*time.Millisecond, logtest.Sync)
		for i := range 50 {
			e := fencetest.New(other.Fences(), "t:n:1", "x")
			advance(time.Duration(i) * 10 * time.Millisecond)
			_ = wantPending(t, p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))))
			advance(bound / 2)
			if !p.leased(origin) || p.Owes() || e.Clear(other.Fences()) {
				t.Fatalf("call %d: leased %v, owes %v, want the lease and the record", i, p.leased(origin), p.Owes())
			}
		}
		if s := p.Stats(); s.SyncErrors != 0 || s.Lapses != 0 {
			t.Errorf("Stats = %+v, want no errors", s)
		}
	})
}

// An unreachable log is asked about once a second, however many callers invalidate.
func TestBackoff(t *testing.T) {
	const seconds = 100
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p := newPeer(t, log, follow.Config{})
				fault(p.link)
				var wg sync.WaitGroup
				stop := make(chan struct{})
				defer wg.Wait()
				defer close(stop)
				for i := range 64 {
					tag := request(t, invalidate.Tag("t", fmt.Sprint(i)))
					wg.Go(func() {
						for {
							_ = p.Invalidate(t.Context(), tag)
							select {
							case <-stop:
								return
							default:
							}
						}
					})
				}
				advance(5 * time.Second)
				p.link.ResetCalls()
				advance(seconds * time.Second)
				syncs, tails := p.link.Calls(logtest.Sync), p.link.Calls(logtest.Tail)
				if syncs < seconds || syncs > 3*seconds/2 || tails > 3*seconds/2 {
					t.Errorf("%d calls of Sync and %d of Tail in %d s, want one each a second, or a little more", syncs, tails, seconds)
				}
				p.link.Heal()
			})
		})
	}
}

// The first failures are followed by quick retries, because most outages are short.
func TestShortOutageIsShort(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.deafen()
		_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Tag("t", "x"))))
		advance(time.Millisecond)
		p.link.Heal()
		advance(bound / 16)
		if p.Owes() {
			t.Error("the invalidation has not succeeded")
		}
	})
}

// When the log is back, the lease recovers and pending invalidations succeed within a second.
func TestRecovery(t *testing.T) {
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				origin := time.Now()
				p, other := newPeer(t, log, follow.Config{Origin: origin}), newPeer(t, log, follow.Config{})
				for i := range 50 {
					e := fencetest.New(other.Fences(), "t:n:1", "x")
					fault(p.link)
					_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Tag("t", "x"))))
					advance(10*time.Second + time.Duration(i)*17*time.Millisecond)
					if p.leased(origin) {
						t.Fatal("the lease has not run out")
					}
					p.link.Heal()
					advance(time.Second)
					if !p.leased(origin) || p.Owes() || e.Clear(other.Fences()) {
						t.Fatalf("a second after the outage: leased %v, owes %v", p.leased(origin), p.Owes())
					}
				}
			})
		})
	}
}

// Processes that lose the log at the same moment do not retry in step.
func TestBackoffHasJitter(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		var peers []*peer
		for range 20 {
			p := newPeer(t, log, follow.Config{})
			p.deafen()
			peers = append(peers, p)
		}
		advance(10 * time.Second)
		var most, calls int
		for range 100 {
			before := make([]int, len(peers))
			for i, p := range peers {
				before[i] = p.link.Calls(logtest.Sync)
			}
			advance(10 * time.Millisecond)
			now := 0
			for i, p := range peers {
				now += p.link.Calls(logtest.Sync) - before[i]
			}
			calls += now
			most = max(most, now)
		}
		if most > len(peers)/2 {
			t.Errorf("%d of %d calls came within 10ms", most, calls)
		}
	})
}

// Pending invalidations are logged at the start, once a minute and at the end. Stats report their
// age.
func TestWaitingIsSaid(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		if s := p.Stats(); s.PendingAge != 0 {
			t.Errorf("PendingAge = %v, nothing waits", s.PendingAge)
		}
		p.deafen()
		_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Tag("t", "x"))))
		advance(time.Second)
		p.wantSaid(t, 1, "invalidations wait for the log or the remote tier")
		for minute := range 5 {
			_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Tag("t", "x"))))
			advance(time.Minute + time.Second)
			p.wantSaid(t, 2+minute, "invalidations wait for the log or the remote tier")
		}
		if s := p.Stats(); s.PendingAge != 306*time.Second || s.Pending != 6 {
			t.Errorf("%d pending for %v, want 6 for 306s", s.Pending, s.PendingAge)
		}
		p.link.Heal()
		advance(time.Second)
		p.wantSaid(t, 1, "the waiting invalidations have succeeded")
		if s := p.Stats(); s.PendingAge != 0 || s.Pending != 0 {
			t.Errorf("%d pending for %v, want none", s.Pending, s.PendingAge)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, part := range []string{"scopes=6", "age=5m", "error=down"} {
			if !strings.Contains(p.said.String(), part) {
				t.Errorf("no line has %s:\n%s", part, p.said.String())
			}
		}
	})
}

// The same holds for cells that cannot be removed while the log answers, and for one invalidation
// of everything, which is as old as the oldest that it replaces.
func TestWaitingOfOtherKindsIsSaid(t *testing.T) {
	for name, limit := range map[string]int{"cells": 0, "everything": 10} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p := newPeer(t, log, follow.Config{MaxPending: limit})
				if p.setRefuse(errDown); limit > 0 {
					p.deafen()
				}
				for i := range 63 { // two minutes, and up to a second after each line until the next try
					_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("t:n:", i))))))
					advance(2 * time.Second)
				}
				p.wantSaid(t, 3, "invalidations wait for the log or the remote tier")
				if s := p.Stats(); s.PendingAge != 126*time.Second {
					t.Errorf("PendingAge = %v, want 126s", s.PendingAge)
				}
				p.setRefuse(nil)
				p.link.Heal()
				advance(3 * time.Second)
				p.wantSaid(t, 1, "the waiting invalidations have succeeded")
				if s := p.Stats(); s.PendingAge != 0 || s.Pending != 0 {
					t.Errorf("%d pending for %v, want none", s.Pending, s.PendingAge)
				}
			})
		})
	}
}

// The removal of stuck cells is retried about once a second, too.
func TestCleanerBacksOff(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.setRefuse(errDown)
		_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Key(fencetest.KeyOf(t, "t:n:1")))))
		advance(5 * time.Second)
		before := p.removals()
		advance(100 * time.Second)
		if n := p.removals() - before; n < 100 || n > 150 {
			t.Errorf("%d tries in 100 s, want 100 or a few more", n)
		}
		p.setRefuse(nil)
		advance(time.Second)
		if p.Stats().Pending != 0 {
			t.Error("not successful a second after the remote tier is back")
		}
	})
}

// Close retries quickly, because little time is left.
func TestCloseTriesOften(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.deafen()
		_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Tag("t", "x"))))
		advance(time.Minute)
		time.AfterFunc(bound/2, p.link.Heal)
		begun := time.Now()
		if err := p.Close(t.Context()); err != nil || time.Since(begun) > bound/2+bound/16 {
			t.Errorf("Close = %v after %v", err, time.Since(begun))
		}
	})
}
