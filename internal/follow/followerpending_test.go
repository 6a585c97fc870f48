package follow_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/fencetest"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/internal/testkit/race"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// ended returns the context of a caller that has no time.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// wantPending checks that a call ended with a PendingError, and returns it.
func wantPending(t *testing.T, err error) *invalidate.PendingError {
	t.Helper()
	pe, ok := errors.AsType[*invalidate.PendingError](err)
	if !ok {
		t.Fatalf("got %v, want a PendingError", err)
	}
	return pe
}

// A process owes an invalidation from the moment the call returns without it being in the log, and
// not an instant later.
func TestOwesFromTheReturn(t *testing.T) {
	for name, fault := range map[string]func(*logtest.Faulty){
		"down":    func(f *logtest.Faulty) { f.Fail(errDown, logtest.Sync) },
		"hanging": func(f *logtest.Faulty) { f.Hang(true, logtest.Sync) },
		"slow":    func(f *logtest.Faulty) { f.Delay(bound/5, logtest.Sync) },
		"well":    func(*logtest.Faulty) {},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p := newPeer(t, log, follow.Config{})
				fault(p.link)
				err := p.Invalidate(ended(t), request(t, invalidate.Tag("t", "x"), invalidate.Tag("t", "y")))
				// A log that answers immediately may have the record before, while or after the call returns.
				if name != "well" {
					if pe := wantPending(t, err); pe.Pending != 2 || !p.Owes() {
						t.Errorf("%d pending, owes %v; want 2 and true", pe.Pending, p.Owes())
					}
				}
				advance(bound)
				p.link.Heal()
				advance(bound)
				if p.Owes() || p.Stats().Pending != 0 {
					t.Errorf("owes %v and %d pending after it has succeeded", p.Owes(), p.Stats().Pending)
				}
			})
		})
	}
}

// While a call is under way and the log answers, its process still trusts the remote tier.
func TestOwesNothingMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.link.Delay(bound / 16)
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))); err != nil {
				t.Error(err)
			}
		})
		advance(bound / 32)
		if p.Owes() {
			t.Error("an order counts as owed while its caller still waits")
		}
		wg.Wait()
	})
}

// heapNow returns the bytes on the heap that are reachable.
func heapNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // fits
}

// What an outage leaves behind does not grow with the length of the outage.
func TestMaxPendingBoundsMemory(t *testing.T) {
	calls := 200_000 // with 2,000,000 the heap grew by 3 KB
	if race.Enabled {
		calls = 40_000
	}
	for name, fault := range map[string]func(*logtest.Faulty){
		"down":    func(f *logtest.Faulty) { f.Fail(errDown, logtest.Sync) },
		"hanging": func(f *logtest.Faulty) { f.Hang(true, logtest.Sync) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p := newPeer(t, log, follow.Config{MaxPending: 100})
				fault(p.link)
				gone := ended(t)
				outage := func(calls int) int64 {
					for i := range calls {
						_ = wantPending(t, p.Invalidate(gone, request(t, invalidate.Key(fencetest.KeyOf(t, fmt.Sprint("t:n:", i%10_000))))))
						if i%1000 == 999 {
							advance(time.Second) // a thousand invalidations a second
						}
					}
					return heapNow()
				}
				before := outage(20_000)
				if grown := outage(calls) - before; grown > 1<<20 {
					t.Errorf("%d invalidations left %d bytes behind, want a constant", calls, grown)
				}
				if n := p.Stats().Pending; n > 101+500 { // the number that gathers during one call to the log
					t.Errorf("%d pending", n)
				}
				p.link.Heal()
				advance(bound)
				if p.Owes() || p.Stats().Pending != 0 {
					t.Errorf("owes %v and %d pending after it has succeeded", p.Owes(), p.Stats().Pending)
				}
				p.wantSaid(t, 1, "one invalidation of everything replaces them")
			})
		})
	}
}

// An invalidation of everything replaces those that wait. Their callers return when it is in the log.
func TestEverythingStandsForAll(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p, other := newPeer(t, log, follow.Config{MaxPending: 10, Wait: bound}), newPeer(t, log, follow.Config{})
		p.link.Fail(errDown, logtest.Sync)
		e := fencetest.New(other.Fences(), "t:unrelated:1")
		for i := range 20 {
			_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Tag("t", fmt.Sprint(i)))))
		}
		var wg sync.WaitGroup
		for i := range 5 { // these come while the one of everything waits
			wg.Go(func() {
				if err := p.Invalidate(t.Context(), request(t, invalidate.Tag("t", fmt.Sprint("late", i)))); err != nil {
					t.Error(err)
				}
			})
		}
		advance(bound / 3)
		if n := p.Stats().Pending; n != 1 {
			t.Errorf("%d pending, want 1: everything", n)
		}
		p.link.Heal()
		wg.Wait()
		advance(5 * time.Millisecond)
		if e.Clear(other.Fences()) {
			t.Error("the other process does not know of everything")
		}
	})
}

// A call that ignores its context makes Close fail, but no invalidation is lost if none was pending.
func TestCloseWithoutPending(t *testing.T) {
	for _, op := range []logtest.Op{logtest.Tail, logtest.Sync} {
		bubble(t, func(t *testing.T, log *memlog.Log) {
			p := newPeer(t, log, follow.Config{})
			p.link.Before(func(_ context.Context, of logtest.Op, _ invalidate.Append) {
				if of == op {
					<-time.After(20 * bound)
				}
			})
			advance(bound)
			err := p.Close(t.Context())
			if pe, ok := errors.AsType[*invalidate.PendingError](err); ok || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v: Close = %v, of which %v", op, err, pe)
			}
			p.link.Heal()
			advance(40 * bound) // until the deaf calls have ended
		})
	}
}

// A call that ends soon after its context, as on a busy machine, is no failure of Close.
func TestCloseWaitsForLateCalls(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p := newPeer(t, log, follow.Config{})
		p.link.Before(func(ctx context.Context, of logtest.Op, _ invalidate.Append) {
			if of == logtest.Tail {
				<-ctx.Done()
				<-time.After(500 * time.Millisecond)
			}
		})
		advance(bound)
		if err := p.Close(ended(t)); err != nil {
			t.Errorf("Close = %v, want nil", err)
		}
		p.link.Heal()
	})
}

// Close returns within one bound if its context has no deadline, and reports what is lost. If a call
// ignores its context, Close returns a second later.
func TestCloseIsBounded(t *testing.T) {
	deaf := func(p *peer, deaf logtest.Op) {
		p.link.Before(func(_ context.Context, op logtest.Op, _ invalidate.Append) {
			if op == deaf {
				<-time.After(20 * bound)
			}
		})
	}
	for name, fault := range map[string]func(*peer){
		"deaf":           func(p *peer) { deaf(p, logtest.Sync) },
		"a deaf tail":    func(p *peer) { p.link.Fail(errDown, logtest.Sync); deaf(p, logtest.Tail); advance(2 * bound) },
		"down":           func(p *peer) { p.deafen() },
		"hanging":        func(p *peer) { p.link.Hang(true) },
		"cells":          func(p *peer) { p.setRefuse(errDown) },
		"cells and hang": func(p *peer) { p.setRefuse(errDown); p.link.Hang(true) },
	} {
		within := bound
		if strings.Contains(name, "deaf") {
			within += time.Second
		}
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p := newPeer(t, log, follow.Config{})
				fault(p)
				_ = wantPending(t, p.Invalidate(ended(t), request(t, invalidate.Key(fencetest.KeyOf(t, "t:n:1")))))
				closed := make(chan error, 1)
				begun := time.Now()
				go func() { closed <- p.Close(context.Background()) }()
				select {
				case err := <-closed:
					if pe := wantPending(t, err); pe.Pending != 1 || time.Since(begun) > within {
						t.Errorf("Close = %v after %v, want 1 pending within %v", err, time.Since(begun), within)
					}
				case <-time.After(5 * bound):
					t.Errorf("Close has not returned after %v", 5*bound)
					p.link.Heal()
					p.setRefuse(nil)
					t.Logf("then Close returned %v", <-closed)
				}
				p.link.Heal()
				advance(40 * bound) // until the deaf calls have ended
			})
		})
	}
}

// If Close cuts a try short, it reports why the try before failed.
func TestCloseSaysWhy(t *testing.T) {
	for name, fault := range map[string]func(p *peer, why error){
		"log":         func(p *peer, why error) { p.link.Fail(why, logtest.Sync) },
		"remote tier": func(p *peer, why error) { p.setRefuse(why) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, log *memlog.Log) {
				p := newPeer(t, log, follow.Config{})
				fault(p, errDown)
				_ = wantPending(t, p.Invalidate(t.Context(), request(t, invalidate.Key(fencetest.KeyOf(t, "t:n:1")))))
				p.setRefuse(nil)
				p.link.Heal()
				p.link.Hang(true)
				p.setHang(true)
				ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
				defer cancel()
				if err := wantPending(t, p.Close(ctx)); !errors.Is(err, errDown) || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Close = %v, want that there was no time, and %v", err, errDown)
				}
			})
		})
	}
}

// Close sends an invalidation whose round Close has cut off.
func TestCloseDuringARound(t *testing.T) {
	bubble(t, func(t *testing.T, log *memlog.Log) {
		p, other := newPeer(t, log, follow.Config{}), newPeer(t, log, follow.Config{})
		e := fencetest.New(other.Fences(), "t:n:1", "x")
		p.link.Delay(bound/16, logtest.Sync)
		go func() { _ = p.Invalidate(t.Context(), request(t, invalidate.Tag("t", "x"))) }()
		advance(bound / 32)
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close = %v", err)
		}
		advance(5 * time.Millisecond)
		if e.Clear(other.Fences()) {
			t.Error("the invalidation was lost")
		}
	})
}

// hungFor is how long a call of hungNode hangs.
const hungFor = 50 * time.Millisecond

// hungNode is a remote tier with one hanging node.
type hungNode struct {
	mu    sync.Mutex // protects the rest
	hung  map[string]bool
	tells bool // its errors name the failed keys
	gone  map[string]int
}

// partial is an error that names the failed keys of a removal, as tier.KeysError does.
type partial struct {
	error
	keys []string
}

func (p partial) FailedKeys() []string { return p.keys }
func (p partial) Unwrap() error        { return p.error }

// remove removes no key of a call with a hung key, unless h.tells.
func (h *hungNode) remove(ctx context.Context, keys []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var failed []string
	for _, k := range keys {
		if h.hung[k] {
			failed = append(failed, k)
		}
	}
	if len(failed) == 0 || h.tells {
		for _, k := range keys {
			if !h.hung[k] {
				h.gone[k]++
			}
		}
	}
	if len(failed) == 0 {
		return nil
	}
	h.mu.Unlock()
	select {
	case <-time.After(hungFor):
	case <-ctx.Done():
	}
	h.mu.Lock()
	if h.tells {
		return partial{errDown, failed}
	}
	return errDown
}

func (h *hungNode) heal(keys ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range keys {
		delete(h.hung, k)
	}
}

// A hanging node delays only invalidations of keys on that node, even if they share a call with
// others.
func TestHungNode(t *testing.T) {
	for _, tells := range []bool{true, false} {
		t.Run(fmt.Sprint("tells which keys: ", tells), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testHungNode(t, tells) })
		})
	}
}

func testHungNode(t *testing.T, tells bool) {
	log := memlog.New(memlog.Config{Bound: bound})
	h := &hungNode{hung: map[string]bool{"t:n:hung": true, "t:n:hung2": true, "t:n:brief": true}, tells: tells, gone: map[string]int{}}
	p, other := follow.Follow(log, follow.Config{Remove: h.remove, Wait: bound}), newPeer(t, log, follow.Config{})
	defer func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}()
	synctest.Wait()
	e := fencetest.New(other.Fences(), "t:n:hung")
	del := func(keys ...string) (time.Duration, error) {
		var parts []invalidate.Scope
		for _, k := range keys {
			parts = append(parts, invalidate.Key(fencetest.KeyOf(t, k)))
		}
		begun := time.Now()
		err := p.Invalidate(t.Context(), request(t, parts...))
		return time.Since(begun), err
	}
	var wg sync.WaitGroup
	for _, keys := range [][]string{{"t:n:hung"}, {"t:n:hung2", "t:n:beside"}} {
		wg.Go(func() {
			took, err := del(keys...)
			if _ = wantPending(t, err); !errors.Is(err, errDown) || took != bound {
				t.Errorf("Delete of %v = %v after %v, want its cause after %v", keys, err, took, bound)
			}
		})
	}
	wg.Go(func() { // its node recovers soon
		if took, err := del("t:n:brief"); err != nil || took > bound*3/4 {
			t.Errorf("Delete on a node that was away for a moment = %v after %v, want nil", err, took)
		}
	})
	for i := range 400 {
		if advance(bound / 200); i == 50 {
			h.heal("t:n:brief")
		}
		if took, err := del(fmt.Sprint("t:n:", i)); err != nil || took > time.Millisecond {
			t.Fatalf("Delete on a node that is well = %v after %v, want nil at once", err, took)
		}
	}
	wg.Wait()
	if p.Owes() || e.Clear(other.Fences()) || p.Stats().Pending != 3 {
		t.Errorf("owes %v, %d pending; want the record in the log and 3 pending", p.Owes(), p.Stats().Pending)
	}
	keys, _ := log.Records()
	h.heal("t:n:hung", "t:n:hung2")
	advance(bound/2 + hungFor) // a try may be under way; it fails, and the next comes within half a bound
	again, _ := log.Records()
	if n := p.Stats().Pending; n != 0 || h.gone["t:n:hung"] != 1 || h.gone["t:n:beside"] != 1 {
		t.Errorf("%d pending, the cells are removed: %v", n, h.gone)
	}
	if len(again) <= len(keys) {
		t.Error("the record was not written again after the removal")
	}
}
