package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// failing is a source that can be made to fail. It records its failed loads.
type failing struct {
	mu    sync.Mutex
	err   error
	took  time.Duration
	tries []time.Time // when failed loads began
	ends  []time.Time
}

func (s *failing) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *failing) load(ctx context.Context, _ int) (string, error) {
	s.mu.Lock()
	err, took, begun := s.err, s.took, time.Now()
	s.mu.Unlock()
	if e := nap(ctx, took); e != nil {
		return "", e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.tries, s.ends = append(s.tries, begun), append(s.ends, time.Now())
		return "", err
	}
	return "v", nil
}

// While an old value can be served, each process loads a key of a failing source at most once a
// Throttle. This holds under any policy, at any age of the value.
func TestThrottle(t *testing.T) {
	for _, stale := range []time.Duration{0, 2500 * time.Millisecond} {
		for _, localTTL := range []time.Duration{0, 1700 * time.Millisecond} {
			for _, soft := range []time.Duration{0, 50 * time.Millisecond} {
				for _, ahead := range []float64{0, 5} {
					for _, remote := range []string{"none", "kept", "emptied"} {
						p := patch{
							TTL: new(6 * time.Second), Stale: &stale, StaleIfError: new(time.Hour), Throttle: new(time.Second), LocalTTL: &localTTL,
							SoftTimeout: &soft, RefreshAhead: &ahead, NegativeTTL: new(time.Minute), ErrorTTL: new(time.Minute),
						}
						bubble(t, fmt.Sprintf("stale %v, local %v, soft %v, ahead %v, remote %s", stale, localTTL, soft, ahead, remote), func(t *testing.T) { throttled(t, p, remote) })
					}
				}
			}
		}
	}
}

func throttled(t *testing.T, p patch, remote string) {
	memory := tiertest.NewMemory()
	srcs, cs := make([]*failing, 2), make([]things, 2)
	for i := range cs {
		tc := cache.TiersConfig{Remote: memory}
		if remote == "none" {
			tc.Remote = nil
		}
		srcs[i] = &failing{took: 70 * time.Millisecond}
		cs[i] = with(t, open(t, tc), thingConfig{Load: srcs[i].load, Policy: p})
		get(t, cs[i], 1)
		srcs[i].fail(errSource)
	}
	if remote == "emptied" {
		must(t, memory.Unlink(t.Context(), cell1))
	}
	const rounds = 200
	for range rounds { // 20 s: the value is fresh, stale, then neither
		crowd(6, func(n int) {
			if v, err := cs[n%2].Get(t.Context(), 1); v != "v" || err != nil {
				t.Errorf("Get = %q, %v, want the old value", v, err)
			}
		})
		advance(100 * time.Millisecond)
	}
	for i, s := range srcs {
		for k := 1; k < len(s.tries); k++ {
			if d := s.tries[k].Sub(s.ends[k-1]); d < time.Second {
				t.Errorf("process %d loaded again %v after a failure, want at least 1s", i, d)
			}
		}
		if n := len(s.tries); n < 5 {
			t.Errorf("process %d loaded %d times in 20s, want at least 5", i, n)
		}
		s.fail(nil)
	}
	advance(2 * time.Second)
	for _, c := range cs {
		get(t, c, 1)
		advance(time.Second)
		wantFetch(t, c, 1, fetched{"v", cache.Local, false, nil})
	}
}

// Without a Throttle every read loads.
func TestNoThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &failing{}
		c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: s.load, Policy: patch{StaleIfError: new(time.Hour), Throttle: new(time.Duration(0))}})
		get(t, c, 1)
		s.fail(errSource)
		advance(time.Hour / 2)
		for range 10 {
			wantFetch(t, c, 1, fetched{"v", cache.Local, true, nil})
		}
		if len(s.tries) != 10 {
			t.Errorf("%d loads in 10 reads, want 10", len(s.tries))
		}
	})
}

// No process remembers an error that says nothing about the source. An error of the loader is
// remembered, even if it is a timeout of its own.
func TestWhichErrorsAreRemembered(t *testing.T) {
	full := fmt.Errorf("inner: %w", cache.ErrOverloaded)
	slow := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tt := range []struct {
		name       string
		load       func(ctx context.Context) error
		remembered bool
	}{
		{"of the source", func(context.Context) error { return errSource }, true},
		{"a timeout of the loader's own", func(context.Context) error { return context.DeadlineExceeded }, true},
		{"cancelled by the source", func(context.Context) error { return context.Canceled }, true},
		{"LoadTimeout", slow, false},
		{"LoadTimeout, in the loader's words", func(ctx context.Context) error { _ = slow(ctx); return errSource }, false},
		{"LoadTimeout of another cache", func(context.Context) error { return fmt.Errorf("inner: %w", cache.ErrLoadTimeout) }, false},
		{"overload of another cache", func(context.Context) error { return full }, false},
		{"another cache is closed", func(context.Context) error { return errors.Join(errSource, cache.ErrClosed) }, false},
		{"recursion", func(context.Context) error { return cache.ErrRecursive }, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 20 { // whichever goroutine runs first
				synctest.Test(t, func(t *testing.T) {
					var mu sync.Mutex
					loads := 0
					_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, thingConfig{
						Policy: patch{ErrorTTL: new(time.Minute), LoadTimeout: new(time.Second)},
						Load: func(ctx context.Context, _ int) (string, error) {
							mu.Lock()
							loads++
							mu.Unlock()
							return "", tt.load(ctx)
						},
					})
					for _, c := range cs {
						for range 2 {
							if _, err := c.Get(t.Context(), 1); err == nil {
								t.Error("Get succeeds")
							}
							advance(10 * time.Millisecond)
						}
					}
					if want := map[bool]int{true: 1, false: 4}[tt.remembered]; loads != want {
						t.Errorf("%d loads in 4 reads in 2 processes, want %d", loads, want)
					}
				})
			}
		})
	}
}

// A policy's MaxRefreshes bounds the refreshes of its namespace over all tenants and all its
// caches. Other namespaces have their own bounds.
func TestMaxRefreshesOfANamespace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, other := &source{}, &source{}
		tiers := open(t, cache.TiersConfig{})
		bounded := swr
		bounded.MaxRefreshes = new(3)
		c := with(t, tiers, thingConfig{Namespace: "bounded", Load: src.load, Policy: bounded})
		twin := with(t, tiers, thingConfig{Namespace: "bounded", Load: src.load, Policy: bounded})
		free := with(t, tiers, thingConfig{Namespace: "free", Load: other.load, Policy: swr})
		read := func() {
			for k := range 10 {
				h := []things{c, twin}[k%2].Tenant(strings.Repeat("t", k/2+1))
				get(t, h, k)
				get(t, free, k)
			}
			synctest.Wait()
		}
		read()
		src.took, other.took = 5*time.Second, 5*time.Second
		src.peak, other.peak = 0, 0
		advance(11 * time.Second)
		read()
		if src.peak != 3 || other.peak != 10 {
			t.Errorf("%d and %d concurrent refreshes, want 3 and 10", src.peak, other.peak)
		}
		if s := total(tiers); s.RefreshesSkipped != 7 {
			t.Errorf("RefreshesSkipped = %d, want 7", s.RefreshesSkipped)
		}
		for range 4 { // the refreshes release their slots
			advance(6 * time.Second)
			read()
		}
		if n := src.total(); n < 10+10 {
			t.Errorf("%d loads, want at least 20: a load and a refresh of each key", n)
		}
		if src.peak != 3 {
			t.Errorf("%d concurrent refreshes, want 3", src.peak)
		}
	})
}

// An override gives one tenant a smaller part of the namespace's refreshes.
func TestMaxRefreshesOfATenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		tiers := open(t, cache.TiersConfig{Policies: policy.Table{{Tenant: "busy", Patch: patch{MaxRefreshes: new(1)}}}})
		c := with(t, tiers, thingConfig{Load: src.load, Policy: swr})
		busy := c.Tenant("busy")
		for k := range 5 {
			get(t, busy, k)
			get(t, c, k)
		}
		src.took, src.peak = time.Second, 0
		advance(11 * time.Second)
		for k := range 5 {
			get(t, busy, k)
		}
		synctest.Wait()
		if src.peak != 1 {
			t.Errorf("%d concurrent refreshes of the tenant, want 1", src.peak)
		}
		for k := range 5 {
			get(t, c, k)
		}
		synctest.Wait()
		if src.peak != 6 {
			t.Errorf("%d concurrent refreshes, want 6: other tenants are not bounded", src.peak)
		}
		advance(2 * time.Second)
	})
}
