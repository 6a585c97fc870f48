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

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

func TestMaxFlights(t *testing.T) {
	play(t, scene{tc: cache.TiersConfig{MaxFlights: 2}, steps: `
		source takes=1s; go a gets any key=0-1; a gets overloaded key=3; go a many 0.1 key=0; a many overloaded key=3
		a counts FlightsRefused=2; wait 1s; a gets 3.1 key=3`})
}

// A GetMany of more absent keys than MaxFlights loads them in parts, and all of them.
func TestGetManyBeyondMaxFlights(t *testing.T) {
	for _, many := range []bool{false, true} {
		play(t, scene{name: fmt.Sprint("LoadMany ", many), on: paired, many: many, tc: cache.TiersConfig{MaxFlights: 64}, cfg: thingConfig{MaxBatch: 10}, steps: `
			source takes=1s; a batches 0-999; loads 1000; a counts FlightsRefused=0; a batches 0-999 ended`}) // all are hits now
	}
}

func TestMaxTenants(t *testing.T) {
	src := &source{}
	tiers := open(t, cache.TiersConfig{MaxTenants: 3})
	c := with(t, tiers, thingConfig{Load: src.load})
	for i := range 10 {
		tenant := c.Tenant(fmt.Sprint("tenant", i))
		get(t, tenant, 1)
		get(t, tenant, 1)
		equal(t, get(t, c.Tenant(fmt.Sprint("tenant", i)), 1), fmt.Sprintf("1.%d", i+1), "a second Cache of tenant %d reads", i)
	}
	spaces := map[string]int64{}
	for _, s := range tiers.Stats().Spaces {
		spaces[s.Tenant] = s.LocalHits
	}
	if len(spaces) != 4 || spaces["tenant0"] != 2 || spaces["other"] != 16 {
		t.Errorf("hits by tenant = %v, want three tenants and the rest as other", spaces)
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

// A tenant with an invalid name gets no counters, and its calls fail with an error about the
// name.
func TestInvalidTenantsUseUpNothing(t *testing.T) {
	src := &source{}
	tiers := open(t, cache.TiersConfig{MaxTenants: 3})
	c := with(t, tiers, thingConfig{Load: src.load})
	for i := range 10 {
		fails(t, errOf(c.Tenant(fmt.Sprint("a:", i)).Get(t.Context(), 1)), key.ErrSeparator, "Get of an invalid tenant")
		_ = c.Tenant("").Delete(t.Context(), 1)
	}
	get(t, c.Tenant("good"), 1)
	var tenants []string
	for _, s := range tiers.Stats().Spaces {
		tenants = append(tenants, s.Tenant)
	}
	if len(tenants) != 2 || tenants[0] != cache.DefaultTenant || tenants[1] != "good" {
		t.Errorf("tenants with counters = %q, want the two valid ones", tenants)
	}
}

// A loader learns whose key it loads, by whichever call it runs.
func TestLoaderKnowsItsTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
		tenant := func(ctx context.Context) string { return cache.Filling(ctx).Tenant() }
		inner := with(t, tiers, thingConfig{Namespace: "inner", Load: func(ctx context.Context, _ int) (string, error) { return tenant(ctx), nil }})
		load := func(ctx context.Context, k int) (string, error) {
			part, err := inner.Tenant("other").Get(ctx, k)
			if part != "other" {
				t.Errorf("the inner loader's tenant = %q, want other", part)
			}
			return tenant(ctx), err
		}
		one := with(t, tiers, thingConfig{Namespace: "one", Load: load, Policy: swr})
		many := with(t, tiers, thingConfig{Namespace: "many", LoadMany: func(ctx context.Context, ks []int) (map[int]string, error) {
			m := map[int]string{}
			for _, k := range ks {
				m[k] = tenant(ctx)
			}
			return m, nil
		}})
		for _, name := range []string{cache.DefaultTenant, "acme", "globex"} {
			for _, c := range []things{one.Tenant(name), many.Tenant(name)} {
				ks := []int{1, 2, 3}
				m, err := c.GetMany(t.Context(), ks)
				for _, k := range ks {
					if m[k] != name || err != nil {
						t.Errorf("GetMany: %v, %v, want values of %s", m, err, name)
					}
				}
				v, err := c.GetOrLoad(t.Context(), 4, load)
				if v != name || err != nil || get(t, c, 5) != name {
					t.Errorf("a loader of %s: %q, %v", name, v, err)
				}
				if err := c.Refresh(t.Context(), 1); err != nil || get(t, c, 1) != name {
					t.Errorf("Refresh of %s: %v", name, err)
				}
				advance(11 * time.Second) // stale: the next read refreshes in the background
				get(t, c, 2)
				synctest.Wait()
				equal(t, get(t, c, 2), name, "the refresh of %s loaded", name)
			}
		}
		equal(t, tenant(t.Context()), "", "outside a loader")
	})
}

// Each tenant beyond MaxTenants still has its own policy from the table.
func TestTenantsBeyondTheCapHaveTheirPolicies(t *testing.T) {
	src := &source{}
	tiers := open(t, cache.TiersConfig{MaxTenants: 1})
	c := with(t, tiers, thingConfig{Load: src.load})
	read := func(tenant string) int {
		before := src.loads[1]
		get(t, c.Tenant(tenant), 1)
		get(t, c.Tenant(tenant), 1)
		return src.loads[1] - before
	}
	if n := read("on") + read("off"); n != 2 {
		t.Fatalf("%d loads of two tenants, want 2", n)
	}
	must(t, tiers.SetPolicies(policy.Table{{Tenant: "off", Patch: policy.Patch{Off: new(true)}}}))
	if on, off := read("on"), read("off"); on != 0 || off != 2 {
		t.Errorf("%d and %d loads, want 0 of tenant on and 2 of tenant off", on, off)
	}
}

// Many tenants leave no memory in use, of their names or of the strings that contain them.
func TestTenantsKeepNoMemory(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{MaxTenants: 10}), thingConfig{Load: (&source{}).load})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 20_000 {
		request := fmt.Sprintf("%06d%s", i, strings.Repeat("x", 10_000))
		c.Tenant(request[:6])
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 1<<20 {
		t.Errorf("20,000 unused tenants keep %d bytes", n)
	}
	runtime.KeepAlive(c)
}

func BenchmarkTenant(b *testing.B) {
	for _, bb := range []struct {
		name     string
		max, use int
	}{
		{"within the cap", 1000, 1}, {"beyond it", 1, 1},
		{"100 within", 1000, 100}, {"100 beyond", 1, 100},
		{"10,000 within", 20_000, 10_000}, {"10,000 beyond", 1, 10_000},
	} {
		tiers, err := cache.Open(cache.TiersConfig{MaxTenants: bb.max})
		if err != nil {
			b.Fatal(err)
		}
		c, err := cache.New(tiers, thingConfig{Namespace: "things", Load: (&source{}).load})
		if err != nil {
			b.Fatal(err)
		}
		tenants := make([]string, bb.use)
		for i := range tenants {
			tenants[i] = fmt.Sprint("tenant", i)
			if _, err := c.Tenant(tenants[i]).Get(b.Context(), 1); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := c.Tenant(tenants[i]).Get(b.Context(), 1); err != nil {
					b.Fatal(err)
				}
				if i++; i == len(tenants) {
					i = 0
				}
			}
		})
		_ = tiers.Close(b.Context())
	}
}
