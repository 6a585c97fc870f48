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

// A tenant with an invalid name gets no counters, and its calls fail with an error about the
// name.
func TestInvalidTenantsUseUpNothing(t *testing.T) {
	src := &source{}
	tiers := open(t, cache.TiersConfig{MaxTenants: 3})
	c := with(t, tiers, thingConfig{Load: src.load})
	for i := range 10 {
		if _, err := c.Tenant(fmt.Sprint("a:", i)).Get(t.Context(), 1); !errors.Is(err, key.ErrSeparator) {
			t.Errorf("Get of an invalid tenant = %v, want key.ErrSeparator", err)
		}
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
				if v := get(t, c, 2); v != name {
					t.Errorf("the refresh of %s loaded %q", name, v)
				}
			}
		}
		if v := tenant(t.Context()); v != "" {
			t.Errorf("outside a loader: %q, want nothing", v)
		}
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
