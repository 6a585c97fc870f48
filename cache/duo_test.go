package cache_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/internal/testkit/memlog"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// duo is two processes with one source, and their links to what they share.
type duo struct {
	src    *source
	log    *memlog.Log
	memory *tiertest.Memory
	link   [2]*logtest.Faulty  // to the log
	wire   [2]*tiertest.Faulty // to the remote tier
	tiers  [2]*cache.Tiers
	c      [2]things
	start  func(i int) // process i, or another one in its place
}

// ground is what the processes of a duo share.
type ground string

const (
	alone  ground = "alone"  // nothing: both are one process without a remote tier
	paired ground = "paired" // a remote tier
	logged ground = "logged" // a remote tier and a log
)

// newLogged returns two processes on one log and one remote tier.
func newLogged(t *testing.T, cfg thingConfig) *duo {
	return newDuo(t, logged, cache.TiersConfig{}, cfg, asIs)
}

// newDuo returns two processes whose remote tier has the given form. They load from its source.
func newDuo(t *testing.T, on ground, tc cache.TiersConfig, cfg thingConfig, as func(*tiertest.Faulty) tier.Remote) *duo {
	w := &duo{log: memlog.New(memlog.Config{Bound: bound}), memory: tiertest.NewMemory(), src: &source{}}
	if cfg.Load == nil && cfg.LoadMany == nil {
		cfg.Load = w.src.load
	}
	w.start = func(i int) {
		if on == alone && i == 1 {
			w.tiers[1], w.c[1] = w.tiers[0], w.c[0]
			return
		}
		if on != alone {
			tc.Remote = as(w.wire[i])
		}
		if on == logged {
			tc.Log = w.link[i]
		}
		w.tiers[i] = open(t, tc)
		w.c[i] = with(t, w.tiers[i], cfg)
	}
	for i := range w.c {
		w.link[i], w.wire[i] = logtest.NewFaulty(w.log), tiertest.NewFaulty(w.memory)
		w.start(i)
	}
	synctest.Wait()
	return w
}

// before runs f once, right before the nth message of process 0 to the remote tier or to the
// log. It returns the number of messages so far.
func (w *duo) before(n int64, f func()) (sent *atomic.Int64) {
	sent = new(atomic.Int64)
	count := func() {
		if sent.Add(1) == n {
			f()
		}
	}
	w.wire[0].Before(func(context.Context, tiertest.Op, []string) { count() })
	w.link[0].Before(func(_ context.Context, op logtest.Op, _ invalidate.Append) {
		if op == logtest.Sync {
			count()
		}
	})
	return sent
}

func (w *duo) want(t *testing.T, i, k int, v string) {
	t.Helper()
	got, err := w.c[i].Get(t.Context(), k)
	if err != nil || got != v {
		t.Errorf("process %d reads %d: %q, %v; want %q", i, k, got, err, v)
	}
}

// wantSince reads key 1 in process i. It expects a value from a later load than the one with
// that number.
func (w *duo) wantSince(t *testing.T, i, load int) {
	t.Helper()
	v, err := w.c[i].Get(t.Context(), 1)
	_, number, _ := strings.Cut(v, ".")
	n, bad := strconv.Atoi(number)
	if err := errors.Join(err, bad); err != nil || n <= load {
		t.Errorf("process %d reads %q, %v; want a load after number %d", i, v, err, load)
	}
}

func (w *duo) invalidate(t *testing.T, i int, scopes ...invalidate.Scope) {
	t.Helper()
	succeeds(t, w.tiers[i].Invalidate(t.Context(), scopes...))
}

func (w *duo) expire(t *testing.T, i int, scopes ...invalidate.Scope) {
	t.Helper()
	succeeds(t, w.tiers[i].Expire(t.Context(), scopes...))
}

// commit puts an invalidation into the log as a database does at COMMIT. No process called
// Invalidate.
func (w *duo) commit(t *testing.T, s invalidate.Scope) {
	t.Helper()
	a := invalidate.Append{Scopes: []invalidate.Fence{{Scope: s}}}
	if s.Kind() == invalidate.KindKey {
		a = invalidate.Append{Keys: a.Scopes}
	}
	_, err := w.log.Sync(t.Context(), invalidate.Cursor{}, a)
	must(t, err)
}

// keyScope returns the scope of one key in namespace things.
func keyScope(t *testing.T, k int) invalidate.Scope {
	t.Helper()
	full, err := key.Space{Tenant: cache.DefaultTenant, Namespace: "things"}.Key(strconv.Itoa(k))
	must(t, err)
	return invalidate.Key(full)
}

// scopes returns the scopes that cover key 1 of namespace things, which carries the tag t.
func scopes(t *testing.T) map[string]invalidate.Scope {
	t.Helper()
	return map[string]invalidate.Scope{
		"key":        keyScope(t, 1),
		"prefix":     invalidate.Prefix("default", "things:"),
		"tenant":     invalidate.Tenant("default"),
		"tag":        invalidate.Tag("default", "t"),
		"everything": invalidate.All(),
	}
}

func tagT(int, string) []string { return []string{"t"} }
