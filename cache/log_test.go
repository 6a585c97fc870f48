package cache_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// logged is two processes on one log and one remote tier. Each has its own links to both.
type logged struct {
	log    *logtest.Memory
	src    *source
	memory *tiertest.Memory
	link   [2]*logtest.Faulty  // to the log
	wire   [2]*tiertest.Faulty // to the remote tier
	tiers  [2]*cache.Tiers
	c      [2]things
}

const bound = 2 * time.Second

func newLogged(t *testing.T, cfg thingConfig) *logged { return newLoggedOn(t, cfg, asIs) }

// newLoggedOn is newLogged with another form of each process's remote tier.
func newLoggedOn(t *testing.T, cfg thingConfig, as func(*tiertest.Faulty) tier.Remote) *logged {
	w := &logged{log: logtest.NewMemory(logtest.MemoryConfig{Bound: bound}), src: &source{}}
	remote := tiertest.NewMemory()
	w.memory = remote
	cfg.Load = w.src.load
	for i := range 2 {
		w.link[i], w.wire[i] = logtest.NewFaulty(w.log), tiertest.NewFaulty(remote)
		w.tiers[i] = open(t, cache.TiersConfig{Remote: as(w.wire[i]), Log: w.link[i]})
		w.c[i] = with(t, w.tiers[i], cfg)
	}
	synctest.Wait()
	return w
}

// between runs f once, right before the next claim of process i.
func (w *logged) between(i int, f func()) {
	var once sync.Once
	w.wire[i].Before(func(_ context.Context, op tiertest.Op, _ []string) {
		if op == tiertest.Claim {
			once.Do(f)
		}
	})
}

func (w *logged) want(t *testing.T, i, k int, v string) {
	t.Helper()
	got, err := w.c[i].Get(t.Context(), k)
	if err != nil || got != v {
		t.Errorf("process %d reads %d: %q, %v; want %q", i, k, got, err, v)
	}
}

func (w *logged) invalidate(t *testing.T, i int, scopes ...invalidate.Scope) {
	t.Helper()
	succeeds(t, w.tiers[i].Invalidate(t.Context(), scopes...))
}

// keyScope returns the scope of one key in namespace things.
func keyScope(t *testing.T, k int) invalidate.Scope {
	t.Helper()
	full, err := key.Space{Tenant: cache.DefaultTenant, Namespace: "things"}.Key(strconv.Itoa(k))
	must(t, err)
	return invalidate.Key(full)
}

// After one process invalidates a value by any scope, the other refuses it from either tier, as
// soon as the record has arrived.
func TestInvalidationReachesOthers(t *testing.T) {
	for name, scope := range scopes(t) {
		bubble(t, name, func(t *testing.T) {
			w := newLogged(t, thingConfig{Tags: tagT})
			w.want(t, 0, 1, "1.1")
			w.want(t, 1, 1, "1.1")
			w.invalidate(t, 0, scope, invalidate.Tag("default", "other"))
			w.want(t, 0, 1, "1.2") // at once
			advance(5 * time.Millisecond)
			w.want(t, 1, 1, "1.2")
			w.src.wantLoads(t, 2)
		})
	}
}

// A process that is cut off from the log serves its cached values until its lease runs out, and
// no longer.
func TestLeaseRunsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.want(t, 1, 1, "1.1")
		w.want(t, 0, 1, "1.1")
		advance(3 * bound)
		w.want(t, 1, 1, "1.1") // far older than the bound, and valid by the lease
		w.link[1].Fail(errors.New("unplugged"))
		w.invalidate(t, 0, keyScope(t, 1))
		w.want(t, 1, 1, "1.1") // within the bound
		advance(bound)
		w.want(t, 1, 1, "1.2") // from the source
		w.want(t, 1, 1, "1.2") // loaded here, less than a bound ago
		advance(bound)
		w.want(t, 1, 1, "1.3")
		if s := w.tiers[1].Stats(); s.Log.Lapses != 1 || s.Total.Fills != 1 {
			t.Errorf("%d lapses and %d fills, want 1 and 1", s.Log.Lapses, s.Total.Fills)
		}
		w.link[1].Heal()
		advance(bound)
		w.want(t, 0, 1, "1.4") // process 1 kept its loads to itself
		w.want(t, 1, 1, "1.4")
	})
}

// When Strict returns, no process can serve the old value.
func TestStrict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.want(t, 1, 1, "1.1")
		advance(bound)
		w.link[1].Hang(true)
		begun := time.Now()
		w.invalidate(t, 0, keyScope(t, 1), invalidate.Strict)
		if took := time.Since(begun); took < bound || took > bound+10*time.Millisecond {
			t.Errorf("Strict took %v, want the bound of %v", took, bound)
		}
		w.want(t, 1, 1, "1.2")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := w.tiers[0].Invalidate(ctx, invalidate.Tag("default", "x"), invalidate.Strict)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Strict with too little time = %v, want DeadlineExceeded", err)
		}
	})
}

// While the log is unreachable, an invalidation applies in this process, is reported as pending,
// and is sent when the log is back.
func TestPendingInvalidation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newLogged(t, thingConfig{})
		w.want(t, 0, 1, "1.1")
		w.want(t, 1, 1, "1.1")
		down := errors.New("down")
		w.link[0].Fail(down)
		err := w.c[0].Delete(t.Context(), 1)
		pe, ok := errors.AsType[*invalidate.PendingError](err)
		if !ok || pe.Pending != 1 || !errors.Is(err, down) {
			t.Fatalf("Delete = %v, want a PendingError of 1 scope", err)
		}
		w.want(t, 0, 1, "1.2")
		if n := w.tiers[0].Stats().Log.Pending; n != 1 {
			t.Errorf("%d pending, want 1", n)
		}
		w.link[0].Heal()
		advance(bound)
		w.want(t, 1, 1, "1.3")
		if n := w.tiers[0].Stats().Log.Pending; n != 0 {
			t.Errorf("%d pending, want 0", n)
		}
	})
}

// Ready waits for the log's first answer. When its context ends, it returns the reason.
func TestReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link := logtest.NewFaulty(logtest.NewMemory(logtest.MemoryConfig{Bound: bound}))
		down := errors.New("down")
		link.Fail(down)
		tiers := open(t, cache.TiersConfig{Log: link})
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		if err := tiers.Ready(ctx); !errors.Is(err, down) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Ready = %v, want the log's error and DeadlineExceeded", err)
		}
		time.AfterFunc(bound, link.Heal)
		begun := time.Now()
		if err := tiers.Ready(t.Context()); err != nil || time.Since(begun) > bound+time.Second+bound/20 {
			t.Errorf("Ready = %v after %v", err, time.Since(begun))
		}
		succeeds(t, tiers.Close(t.Context()))
		if err := tiers.Ready(t.Context()); !errors.Is(err, cache.ErrClosed) {
			t.Errorf("Ready after Close = %v", err)
		}
		if err := open(t, cache.TiersConfig{}).Ready(t.Context()); err != nil {
			t.Errorf("Ready without a log = %v", err)
		}
	})
}

// A fleet restarts on a new log, for example on another server, and old cells survive. The new
// epochs may have lower numbers than those in the cells. A value that is invalidated now must be
// gone in every process.
func TestSurvivingCellsOfALostLog(t *testing.T) {
	for name, scope := range map[string]invalidate.Scope{
		"key": keyScope(t, 1), "tag": invalidate.Tag("default", "t"), "prefix": invalidate.Prefix("default", "things:"),
	} {
		bubble(t, name, func(t *testing.T) {
			cfg := thingConfig{Tags: tagT}
			w := newLogged(t, cfg)
			for range 5 { // the next log will have far lower numbers
				w.log.Restart()
				advance(bound)
			}
			w.want(t, 0, 1, "1.1")
			cell := cellOf(t, w.memory, cell1)
			for i := range w.tiers {
				must(t, w.tiers[i].Close(t.Context()))
			}
			w.log.Delete()
			cfg.Load = w.src.load
			for i := range w.tiers {
				w.tiers[i] = open(t, cache.TiersConfig{Remote: w.wire[i], Log: w.link[i]})
				w.c[i] = with(t, w.tiers[i], cfg)
			}
			synctest.Wait()
			w.invalidate(t, 0, scope, invalidate.Strict)
			store(t, w.memory, cell1, cell, time.Hour) // the node that held the cell comes back with it
			w.want(t, 0, 1, "1.2")
			w.want(t, 1, 1, "1.2")
			if n := w.tiers[0].Stats().Total.CellsRefused; n != 1 {
				t.Errorf("%d cells were refused, want 1: the cell of another epoch", n)
			}
		})
	}
}
