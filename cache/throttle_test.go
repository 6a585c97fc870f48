package cache_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

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
	srcs, cs := make([]*source, 2), make([]things, 2)
	for i := range cs {
		tc := cache.TiersConfig{Remote: memory}
		if remote == "none" {
			tc.Remote = nil
		}
		srcs[i] = &source{took: 70 * time.Millisecond, fixed: "v"}
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
		for k := 1; k < len(s.failed); k++ {
			if d := s.failed[k].began.Sub(s.failed[k-1].ended); d < time.Second {
				t.Errorf("process %d loaded again %v after a failure, want at least 1s", i, d)
			}
		}
		if n := len(s.failed); n < 5 {
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

// No process remembers an error that says nothing about the source. An error of the loader is
// remembered, even if it is a timeout of its own.
func TestWhichErrorsAreRemembered(t *testing.T) {
	cfg := thingConfig{Policy: patch{ErrorTTL: new(time.Minute), LoadTimeout: new(time.Second)}}
	const reads = "; a gets error; wait 10ms; a gets error; wait 10ms; b gets error; wait 10ms; b gets error; loads "
	for name, tt := range map[string]struct {
		err   error
		loads string
	}{
		"of the source":                 {errSource, "1"},
		"a timeout of the loader's own": {context.DeadlineExceeded, "1"},
		"cancelled by the source":       {context.Canceled, "1"},
		"LoadTimeout of another cache":  {fmt.Errorf("inner: %w", cache.ErrLoadTimeout), "4"},
		"overload of another cache":     {fmt.Errorf("inner: %w", cache.ErrOverloaded), "4"},
		"another cache is closed":       {errors.Join(errSource, cache.ErrClosed), "4"},
		"recursion":                     {cache.ErrRecursive, "4"},
	} {
		play(t, scene{name: name, on: paired, cfg: cfg, err: tt.err, steps: "source fails" + reads + tt.loads})
	}
	for i := range 20 { // whichever goroutine runs first
		play(t, scene{name: fmt.Sprint("LoadTimeout ", i), on: paired, cfg: cfg, steps: "source takes=1h" + reads + "4"})
		cfg := cfg
		cfg.Load = func(ctx context.Context, _ int) (string, error) { <-ctx.Done(); return "", errSource } // in the loader's words
		play(t, scene{name: fmt.Sprint("words ", i), on: paired, cfg: cfg, steps: strings.TrimSuffix(reads, "; loads ") + "; a counts Loads=2; b counts Loads=2"})
	}
}

// MaxRefreshes bounds the concurrent refreshes of a process, of a namespace over all its tenants and
// caches, or of a tenant. Each refresh releases its slot. Others have their own bounds.
func TestMaxRefreshes(t *testing.T) {
	for name, tt := range map[string]struct {
		tc   cache.TiersConfig
		cfg  policy.Patch
		most int
		free bool // the refreshes of another namespace and another tenant are not bounded
		by   func(c, twin things, k int) things
	}{
		"of a process": {tc: cache.TiersConfig{MaxRefreshes: 3}, most: 3, by: func(c, _ things, _ int) things { return c }},
		"of a namespace": {cfg: patch{MaxRefreshes: new(3)}, most: 3, free: true, by: func(c, twin things, k int) things {
			return []things{c, twin}[k%2].Tenant(strings.Repeat("t", k/2+1))
		}},
		"of a tenant": {
			tc: cache.TiersConfig{Policies: policy.Table{{Tenant: "busy", Patch: patch{MaxRefreshes: new(1)}}}}, most: 1, free: true,
			by: func(c, _ things, _ int) things { return c.Tenant("busy") },
		},
	} {
		bubble(t, name, func(t *testing.T) {
			const keys = 10
			src, other := &source{}, &source{}
			tiers := open(t, tt.tc)
			tt.cfg.TTL, tt.cfg.Stale = swr.TTL, new(time.Hour)
			c, twin := with(t, tiers, thingConfig{Load: src.load, Policy: tt.cfg}), with(t, tiers, thingConfig{Load: src.load, Policy: tt.cfg})
			free := []things{with(t, tiers, thingConfig{Namespace: "free", Load: other.load, Policy: swr}), c.Tenant("free")}
			if name == "of a namespace" {
				free[1] = free[0]
			}
			read := func() {
				for k := range keys {
					get(t, tt.by(c, twin, k), k)
					if tt.free {
						_, err := free[k%2].GetOrLoad(t.Context(), k, other.load)
						succeeds(t, err)
					}
				}
				synctest.Wait()
			}
			read()
			for _, s := range []*source{src, other} {
				s.set(func(s *source) { s.took, s.peak = 5*time.Second, 0 })
			}
			advance(11 * time.Second)
			read()
			equal(t, total(tiers).RefreshesSkipped, int64(keys-tt.most), "RefreshesSkipped")
			for range keys {
				advance(6 * time.Second)
				read()
			}
			if src.peak != tt.most || tt.free && other.peak != keys {
				t.Errorf("%d and %d concurrent refreshes, want %d and %d", src.peak, other.peak, tt.most, keys)
			}
			if n := src.total(); n < 2*keys {
				t.Errorf("%d loads, want a load and a refresh of each key", n)
			}
		})
	}
}
