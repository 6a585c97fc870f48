package cache_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/internal/testkit/tiercall"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func TestMaxFlights(t *testing.T) {
	play(t, scene{tc: cache.TiersConfig{MaxFlights: 2}, steps: `
		source takes=1s; go a gets any key=0-1; a gets overloaded key=3; go a many 0.1 key=0; a many overloaded key=3
		a counts Reads.Refused=2; wait 1s; a gets 3.1 key=3`})
}

// A GetMany of more absent keys than MaxFlights loads them in parts, and all of them.
func TestGetManyBeyondMaxFlights(t *testing.T) {
	for _, many := range []bool{false, true} {
		play(t, scene{name: fmt.Sprint("LoadMany ", many), on: paired, many: many, tc: cache.TiersConfig{MaxFlights: 64}, cfg: thingConfig{MaxBatch: 10}, steps: `
			source takes=1s; a batches 0-999; loads 1000; a counts Reads.Refused=0; a batches 0-999 ended`}) // all are hits now
	}
}

// Tenants beyond MaxTenants share one set of counters, and still have their own policies. One with an invalid
// name uses up nothing: its calls fail with an error about the name.
func TestMaxTenants(t *testing.T) {
	src := &source{}
	tiers := open(t, cache.TiersConfig{MaxTenants: 3})
	c := with(t, tiers, thingConfig{Load: src.load})
	for i := range 10 {
		fails(t, errOf(c.Tenant(fmt.Sprint("a:", i)).Get(t.Context(), 1)), key.ErrSeparator, "Get of an invalid tenant")
		fails(t, c.Tenant("").Delete(t.Context(), 1), key.ErrEmpty, "Delete of an empty tenant")
	}
	for i := range 10 {
		tenant := c.Tenant(fmt.Sprint("tenant", i))
		get(t, tenant, 1)
		get(t, tenant, 1)
		equal(t, get(t, c.Tenant(fmt.Sprint("tenant", i)), 1), fmt.Sprintf("1.%d", i+1), "a second Cache of tenant %d reads", i)
	}
	spaces := map[string]int64{}
	for _, s := range tiers.Stats().Spaces {
		spaces[s.Tenant] = s.Reads.LocalHits
	}
	same(t, map[string]int64{cache.DefaultTenant: 0, "tenant0": 2, "tenant1": 2, "other": 16}, spaces, "hits by tenant")
	must(t, tiers.SetPolicies(policy.Table{{Tenant: "tenant9", Patch: patch{Off: new(true)}}}))
	for tenant, want := range map[string]string{"tenant8": "1.9", "tenant9": "1.11"} {
		equal(t, get(t, c.Tenant(tenant), 1), want, "with tenant9 off, %s reads", tenant)
	}
}

// The text of a key counts in the budget of the local tier, in a struct, too. What a key points to
// does not.
func TestBudgetCountsKeys(t *testing.T) {
	type name struct{ Text string }
	tiers := open(t, cache.TiersConfig{})
	texts := with(t, tiers, cache.Config[string, int]{Namespace: "texts"})
	names := with(t, tiers, cache.Config[name, int]{Namespace: "names"})
	const long, n = 900, 10
	for i := range n {
		text := fmt.Sprintf("%0*d", long, i)
		must(t, errors.Join(texts.Set(t.Context(), text, i), names.Set(t.Context(), name{text}, i)))
	}
	if got := tiers.Stats().Local.Bytes; got < 2*n*long || got > 2*n*(long+500) {
		t.Errorf("%d entries with keys of %d bytes take %d bytes in all", 2*n, long, got)
	}
}

// A loader learns whose key it loads, by whichever call it runs. A loader that reads another tenant's key
// does not change that.
func TestLoaderKnowsItsTenant(t *testing.T) {
	for _, many := range []bool{false, true} {
		bubble(t, fmt.Sprint("LoadMany ", many), func(t *testing.T) {
			tiers := open(t, tiersOf(true))
			tenant := func(ctx context.Context, _ int) (string, error) { return cache.Filling(ctx).Tenant(), nil }
			inner := with(t, tiers, thingConfig{Namespace: "inner", Load: tenant})
			load := func(ctx context.Context, k int) (string, error) {
				part, err := inner.Tenant("other").Get(ctx, k)
				equal(t, part, "other", "the inner loader's tenant")
				return cache.Filling(ctx).Tenant(), err
			}
			cfg := loading(load, many)
			cfg.Policy = swr
			of := with(t, tiers, cfg)
			for _, name := range []string{cache.DefaultTenant, "acme", "globex"} {
				c := of.Tenant(name)
				m, err := c.GetMany(t.Context(), []int{1, 2, 3})
				succeeds(t, err)
				same(t, map[int]string{1: name, 2: name, 3: name}, m, "GetMany")
				v, err := c.GetOrLoad(t.Context(), 4, load)
				succeeds(t, errors.Join(err, c.Refresh(t.Context(), 1)))
				advance(11 * time.Second) // stale: the next read refreshes in the background
				get(t, c, 2)
				synctest.Wait()
				for _, v := range []string{v, get(t, c, 5), get(t, c, 1), get(t, c, 2)} {
					equal(t, v, name, "GetOrLoad, Get, Refresh or a refresh loads for")
				}
			}
			equal(t, cache.Filling(t.Context()).Tenant(), "", "outside a loader")
		})
	}
}

// Many tenants leave no memory in use, of their names or of the strings that contain them.
func TestTenantsKeepNoMemory(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{MaxTenants: 10}), thingConfig{Load: (&source{}).load})
	before := int64(heap())
	for i := range 20_000 {
		request := fmt.Sprintf("%06d%s", i, strings.Repeat("x", 10_000))
		c.Tenant(request[:6])
	}
	// The runtime tells of what has left after a collection, in the background.
	kept := func() int64 { return int64(heap()) - before }
	for until := time.Now().Add(20 * time.Second); kept() > 1<<20; runtime.Gosched() {
		if time.Now().After(until) {
			t.Fatalf("20,000 unused tenants keep %d bytes", kept())
		}
	}
	runtime.KeepAlive(c)
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
	var srcs [2]*source
	var cs [2]things
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
		must(t, tiercall.Remove(t.Context(), memory, cell1))
	}
	for range 200 { // 20 s: the value is fresh, stale, then neither
		crowd(6, func(n int) { equal(t, get(t, cs[n%2], 1), "v", "the old value") })
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
		play(t, scene{name: fmt.Sprint("words ", i), on: paired, cfg: cfg, steps: strings.TrimSuffix(reads, "; loads ") + "; a counts Loads.Calls=2; b counts Loads.Calls=2"})
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
			equal(t, total(tiers).Refreshes.Skipped, int64(keys-tt.most), "Refreshes.Skipped")
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
