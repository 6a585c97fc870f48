package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
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

const bound = 2 * time.Second

var errDown = errors.New("down")

// peer is one process: its connection to the log, its follower, and what the follower logged and
// removed.
type peer struct {
	*follow.Follower
	link *logtest.Faulty

	mu      sync.Mutex // protects the rest
	removed []string
	refuse  error // of removals
	hang    bool  // in removals, until the call's time ends
	exit    bool  // removals end their goroutine
	tries   int   // of removals
	lags    []time.Duration
	said    bytes.Buffer
	mute    bool // the next line to be logged is a panic
}

func newPeer(t *testing.T, log invalidate.Log, cfg follow.Config) *peer {
	t.Helper()
	p := &peer{link: logtest.NewFaulty(log)}
	cfg.Logger = slog.New(slog.NewTextHandler(locked{p}, nil))
	cfg.OnLag = func(d time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lags = append(p.lags, d)
	}
	cfg.Remove = func(ctx context.Context, keys []string) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tries++
		if p.exit {
			runtime.Goexit()
		}
		if p.hang {
			<-ctx.Done()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p.refuse != nil {
			return p.refuse
		}
		p.removed = append(p.removed, keys...)
		return nil
	}
	p.Follower = follow.Follow(p.link, cfg)
	t.Cleanup(func() {
		p.link.Heal()
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	synctest.Wait()
	return p
}

// locked writes to the peer's logger output.
type locked struct{ p *peer }

func (l locked) Write(b []byte) (int, error) {
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	if l.p.mute {
		l.p.mute = false
		panic(errDown)
	}
	return l.p.said.Write(b)
}

// wantSaid checks that the peer has logged the text that many times.
func (p *peer) wantSaid(t *testing.T, times int, text string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := strings.Count(p.said.String(), text); n != times {
		t.Errorf("%q was said %d times, want %d; the log is\n%s", text, n, times, p.said.String())
	}
}

func (p *peer) setRefuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = err
}

func (p *peer) setExit(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exit = on
}

func (p *peer) setHang(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hang = on
}

// removals returns how often the peer tried to remove cells.
func (p *peer) removals() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tries
}

// leased reports whether the lease holds now.
func (p *peer) leased(origin time.Time) bool {
	return p.Lease().Covers(p.Lease().Read(), int64(time.Since(origin)))
}

func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func request(t *testing.T, parts ...invalidate.Scope) fence.Request {
	t.Helper()
	r, err := fence.NewRequest(parts...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// bubble runs a test on a fresh log in memory.
func bubble(t *testing.T, f func(t *testing.T, log *memlog.Log)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t, memlog.New(memlog.Config{Bound: bound}))
	})
}

// The lease is renewed while the log answers, runs out within the bound when it does not, and
// recovers. Each change is logged once.
func TestLeaseLives(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p := newPeer(t, log, follow.Config{Origin: origin})
		for range 50 {
			if !p.leased(origin) {
				t.Fatalf("no lease at %v", time.Since(origin))
			}
			advance(bound / 7)
		}
		p.link.Fail(errDown)
		failed := time.Now()
		for p.leased(origin) {
			advance(bound / 100)
		}
		if took := time.Since(failed); took > bound {
			t.Errorf("the lease ran out after %v, want the bound at most", took)
		}
		advance(3 * bound)
		p.link.Heal()
		advance(time.Second)
		if !p.leased(origin) {
			t.Error("the lease has not come back")
		}
		if s := p.Stats(); s.Lapses != 1 || s.SyncErrors == 0 || s.LeaseAge > bound/4 || s.LeaseLeft < bound*3/4 || s.LeaseLeft > bound+1 {
			t.Errorf("Stats = %+v, want one lapse and a young lease", s)
		}
		p.wantSaid(t, 1, "the lease has run out")
		p.wantSaid(t, 1, "the lease is good again")
	})
}

// Before the log has answered once, no lease has run out.
func TestNoLeaseYet(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		faulty := logtest.NewFaulty(log)
		faulty.Fail(errDown)
		p := newPeer(t, faulty, follow.Config{})
		advance(3 * bound)
		p.wantSaid(t, 1, "the log has not answered yet")
		p.wantSaid(t, 0, "the lease has run out")
		faulty.Heal()
		advance(3 * bound)
		p.wantSaid(t, 1, "the lease is good again")
	})
}

// Only Sync extends the lease: a process that receives every record by its tail, but cannot sync,
// stops serving.
func TestTailDoesNotExtendTheLease(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		a := newPeer(t, log, follow.Config{})
		b := newPeer(t, log, follow.Config{Origin: origin})
		b.link.Fail(errDown, logtest.Sync)
		for i := range 30 {
			if err := a.Invalidate(t.Context(), request(t, invalidate.Tag("t", fmt.Sprint(i)))); err != nil {
				t.Fatal(err)
			}
			advance(bound / 20)
		}
		if s := b.Stats(); s.Records < 30 {
			t.Errorf("b heard %d records by its tail, want 30 and more", s.Records)
		}
		if b.leased(origin) {
			t.Error("b holds an unconfirmed lease")
		}
	})
}

// The lease counts from the moment of the question: a slow answer gives a shorter lease.
func TestLeaseCountsFromTheQuestion(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		origin := time.Now()
		p := newPeer(t, log, follow.Config{Origin: origin})
		p.link.Delay(bound/5, logtest.Sync)
		advance(5 * bound)
		at, ok := p.Lease().Confirmed()
		if age := time.Since(origin) - time.Duration(at); !ok || age < bound/5 {
			t.Errorf("the lease is %v old (%v), want %v at least: that is how long an answer takes", age, ok, bound/5)
		}
	})
}

// Concurrent invalidations share records: those that gather during one call to the log go with the
// next.
func TestGroupCommit(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.link.Delay(10 * time.Millisecond)
		before := p.Stats().Syncs
		var wg sync.WaitGroup
		for i := range 500 {
			wg.Go(func() {
				k := invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("t:n:", i)))
				if err := p.Invalidate(t.Context(), request(t, k, invalidate.Tag("t", "shared"))); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := p.Stats().Syncs - before; n > 4 {
			t.Errorf("500 invalidations took %d calls to the log, want 4 at most", n)
		}
		keys, scopes := log.Records()
		fences := 0
		for _, r := range keys {
			fences += len(r.Fences)
		}
		if fences != 500 || len(scopes) > 5 {
			t.Errorf("the log has %d key fences in %d records, and %d scope records", fences, len(keys), len(scopes))
		}
		if len(p.removed) != 500 {
			t.Errorf("%d cells removed, want 500", len(p.removed))
		}
	})
}

// Fences that do not fit into one record go into several, before any caller returns.
func TestManyFences(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p, other := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		var parts []invalidate.Scope
		var entries []*fencetest.Entry
		for i := range invalidate.MaxFences*2 + 10 {
			k := fmt.Sprint("t:n:", i)
			parts = append(parts, invalidate.Key(fencetest.KeyOf(t, k)))
			entries = append(entries, fencetest.New(other.Fences(), k))
		}
		if err := p.Invalidate(t.Context(), request(t, parts...)); err != nil {
			t.Fatal(err)
		}
		advance(10 * time.Millisecond)
		for _, e := range entries {
			if e.Clear(other.Fences()) {
				t.Fatalf("%s has survived", e.Key)
			}
		}
	})
}

// Cells are removed before the record is written.
func TestCellsBeforeTheRecord(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.link.Before(func(_ context.Context, _ logtest.Op, a invalidate.Append) {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(a.Keys) > 0 && len(p.removed) == 0 {
				t.Error("the record is written before the cell is gone")
			}
		})
		k := invalidate.Key(fencetest.KeyOf(t, "t:n:1"))
		if err := p.Invalidate(t.Context(), request(t, k)); err != nil {
			t.Fatal(err)
		}
		if len(p.removed) != 1 || p.removed[0] != "t:n:1" {
			t.Errorf("removed %q, want t:n:1", p.removed)
		}
	})
}

// An invalidation that cannot be written stays pending until it is written. The caller waits at
// most for its context or Config.Wait, and the fence is applied in this process.
func TestPending(t *testing.T) {
	for name, limit := range map[string]time.Duration{"context": bound / 3, "wait": time.Hour} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p, other := newPeer(t, log, follow.Config{Wait: bound}), newPeer(t, log, follow.Config{})
				mine, theirs := fencetest.New(p.Fences(), "t:n:1", "x"), fencetest.New(other.Fences(), "t:n:1", "x")
				p.link.Fail(errDown)
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				defer cancel()
				begun := time.Now()
				err := p.Invalidate(ctx, request(t, invalidate.Tag("t", "x")))
				pe, ok := errors.AsType[*invalidate.PendingError](err)
				if !ok || pe.Pending != 1 || !errors.Is(err, errDown) {
					t.Errorf("Invalidate = %v, want a PendingError with its cause", err)
				}
				if took := time.Since(begun); took != min(limit, bound) {
					t.Errorf("it took %v, want %v", took, min(limit, bound))
				}
				if mine.Clear(p.Fences()) || !p.Owes() || !theirs.Clear(other.Fences()) {
					t.Error("want the fence here, not there, and a debt")
				}
				p.link.Heal()
				advance(time.Second)
				if theirs.Clear(other.Fences()) || p.Owes() || p.Stats().Pending != 0 {
					t.Error("the invalidation has not succeeded")
				}
				p.wantSaid(t, 1, "invalidations wait for the log")
				p.wantSaid(t, 1, "the waiting invalidations have succeeded")
			})
		})
	}
}

// A cell that could not be removed keeps the invalidation pending, although its record is written.
// Cell and record are tried again, in this order.
func TestPendingCell(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p, other := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		e := fencetest.New(other.Fences(), "t:n:1")
		p.setRefuse(errDown)
		err := p.Invalidate(t.Context(), request(t, invalidate.Key(fencetest.KeyOf(t, "t:n:1"))))
		if _, ok := errors.AsType[*invalidate.PendingError](err); !ok || !errors.Is(err, errDown) {
			t.Errorf("Invalidate = %v, want a PendingError with its cause", err)
		}
		advance(time.Millisecond)
		if e.Clear(other.Fences()) {
			t.Error("the record was not written")
		}
		if err := p.Confirm(t.Context(), 0, bound); err != nil {
			t.Errorf("the log answers, but Confirm = %v", err)
		}
		p.setRefuse(nil)
		advance(bound / 2)
		if p.Owes() || len(p.removed) != 1 {
			t.Errorf("owes %v, removed %q", p.Owes(), p.removed)
		}
	})
}

// Too many waiting invalidations become one of everything. Their callers return when that one is in
// the log.
func TestPendingOverflow(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p, other := newPeer(t, log, follow.Config{MaxPending: 10, Wait: bound}), newPeer(t, log, follow.Config{})
		e := fencetest.New(other.Fences(), "t:unrelated:1")
		p.link.Fail(errDown)
		var wg sync.WaitGroup
		for i := range 11 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				if err := p.Invalidate(ctx, request(t, invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("t:n:", i))))); err != nil {
					t.Error(err)
				}
			})
		}
		advance(bound / 4)
		if n := p.Stats().Pending; n != 1 {
			t.Errorf("%d pending, want 1: everything", n)
		}
		p.link.Heal()
		wg.Wait()
		advance(time.Millisecond * 5)
		if e.Clear(other.Fences()) {
			t.Error("everything was not given up")
		}
		p.wantSaid(t, 1, "one invalidation of everything replaces them")
	})
}

// Close sends what is owed if it can, and otherwise returns an error.
func TestCloseDrains(t *testing.T) {
	for name, heals := range map[string]bool{"sent": true, "lost": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p, other := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
				e := fencetest.New(other.Fences(), "t:n:1", "x")
				p.link.Fail(errDown)
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				_ = p.Invalidate(ctx, request(t, invalidate.Tag("t", "x")))
				if heals {
					time.AfterFunc(bound, p.link.Heal)
				}
				ctx, cancel = context.WithTimeout(t.Context(), 3*bound)
				defer cancel()
				err := p.Close(ctx)
				if _, ok := errors.AsType[*invalidate.PendingError](err); ok == heals {
					t.Errorf("Close = %v", err)
				}
				advance(5 * time.Millisecond)
				if e.Clear(other.Fences()) == heals {
					t.Errorf("the invalidation arrived: %v, want %v", !heals, heals)
				}
				if err := p.Invalidate(t.Context(), request(t, invalidate.All())); !errors.Is(err, follow.ErrClosed) {
					t.Errorf("Invalidate after Close = %v", err)
				}
				if err := p.Confirm(t.Context(), 1<<62, bound); !errors.Is(err, follow.ErrClosed) {
					t.Errorf("Confirm after Close = %v", err)
				}
			})
		})
	}
}
