package cache_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// key is how the registry knows a thing.
func thingKey(namespace string, k int) string {
	return fmt.Sprintf("%s:%s:%d", cache.DefaultTenant, namespace, k)
}

func entity(tag string) string { return invalidate.TagEntity(cache.DefaultTenant, tag) }

func wantEntities(t *testing.T, r *invalidate.Registry, key string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.Entities(key)); diff != "" {
		t.Errorf("Entities(%s) (-want +got):\n%s", key, diff)
	}
}

func wantCovered(t *testing.T, r *invalidate.Registry, tag string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.Covered(invalidate.Tag(cache.DefaultTenant, tag))); diff != "" {
		t.Errorf("Covered(%s) (-want +got):\n%s", tag, diff)
	}
}

// Whatever way a tag comes to an entry, the registry has its name.
func TestRegistryNamesTags(t *testing.T) {
	reg := invalidate.NewRegistry(invalidate.RegistryConfig{})
	tiers := open(t, cache.TiersConfig{Registry: reg})
	inner := with(t, tiers, thingConfig{Namespace: "inner", Tags: tagT, Load: (&source{}).load})
	outer := with(t, tiers, thingConfig{Namespace: "outer", Load: func(ctx context.Context, k int) (string, error) {
		cache.Depend(ctx, "depend", "depend")
		return inner.Get(ctx, k)
	}})
	for range 2 { // the inner value is loaded, then a hit
		if _, err := outer.GetOrLoad(t.Context(), 1, nil, cache.Tags("option", "depend")); err != nil {
			t.Fatal(err)
		}
		wantEntities(t, reg, thingKey("inner", 1), entity("t"))
		wantEntities(t, reg, thingKey("outer", 1), entity("depend"), entity("option"), entity("t"))
		wantCovered(t, reg, "t", thingKey("inner", 1), thingKey("outer", 1))
		if err := outer.Delete(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		wantEntities(t, reg, thingKey("outer", 1))
	}
	if err := inner.Set(t.Context(), 2, "set", cache.Tags("option")); err != nil {
		t.Fatal(err)
	}
	wantEntities(t, reg, thingKey("inner", 2), entity("option"), entity("t"))
}

// A value of another process's has the hashes of its tags and not their names,
// and so has what is made of it; a look-up by the name finds them all the same.
func TestRegistryOfRemoteHits(t *testing.T) {
	mem := tiertest.NewMemory()
	there := with(t, open(t, cache.TiersConfig{Remote: mem}), thingConfig{Namespace: "inner", Tags: tagT, Load: (&source{}).load})
	get(t, there, 1)
	reg := invalidate.NewRegistry(invalidate.RegistryConfig{})
	tiers := open(t, cache.TiersConfig{Remote: mem, Registry: reg})
	inner := with(t, tiers, thingConfig{Namespace: "inner"})
	outer := with(t, tiers, thingConfig{Namespace: "outer", Load: func(ctx context.Context, k int) (string, error) {
		cache.Depend(ctx, "own")
		return inner.Get(ctx, k)
	}})
	get(t, outer, 1)
	hashed := invalidate.HashEntity(invalidate.TagHash(cache.DefaultTenant, "t"))
	wantEntities(t, reg, thingKey("inner", 1), hashed)
	wantEntities(t, reg, thingKey("outer", 1), hashed, entity("own"))
	wantCovered(t, reg, "t", thingKey("inner", 1), thingKey("outer", 1))
	invalidateTag(t, tiers, "t")
	wantCovered(t, reg, "t")
	if keys, entities, pairs := reg.Len(); keys+entities+pairs != 0 {
		t.Errorf("%d keys, %d entities, %d pairs are left", keys, entities, pairs)
	}
}

// spied is a local tier that looks at the registry before an entry becomes visible.
type spied struct {
	*local.Tier
	before func()
}

func (w spied) Set(hash uint64, e tier.Entry, cost int64) bool {
	w.before()
	return w.Tier.Set(hash, e, cost)
}

// An invalidation that comes as soon as an entry can be seen finds it.
func TestRegisteredBeforeVisible(t *testing.T) {
	reg := invalidate.NewRegistry(invalidate.RegistryConfig{})
	seen := 0
	w := spied{Tier: local.New(local.Config{}), before: func() {
		seen++
		wantCovered(t, reg, "t", thingKey("things", 1))
	}}
	c := with(t, open(t, cache.TiersConfig{Local: w, Registry: reg}), thingConfig{Tags: tagT, Load: (&source{}).load})
	get(t, c, 1)
	if err := c.Set(t.Context(), 1, "set"); err != nil {
		t.Fatal(err)
	}
	if seen != 2 {
		t.Errorf("%d entries were stored, want 2", seen)
	}
}

// However an entry leaves, its registration does.
func TestRegistryForgets(t *testing.T) {
	for name, leave := range map[string]func(ctx context.Context, tiers *cache.Tiers, c things) error{
		"Delete":    func(ctx context.Context, _ *cache.Tiers, c things) error { return c.Delete(ctx, 1) },
		"DeleteAll": func(ctx context.Context, _ *cache.Tiers, c things) error { return c.DeleteAll(ctx) },
		"tag": func(ctx context.Context, tiers *cache.Tiers, _ things) error {
			return tiers.Invalidate(ctx, invalidate.Tag(cache.DefaultTenant, "t"))
		},
		"All": func(ctx context.Context, tiers *cache.Tiers, _ things) error {
			return tiers.Invalidate(ctx, invalidate.All())
		},
		"Set of what is not kept": func(ctx context.Context, _ *cache.Tiers, c things) error {
			if err := c.Set(ctx, 1, strings.Repeat("x", 1<<20+1)); err == nil {
				return fmt.Errorf("it was kept")
			}
			return nil
		},
		"eviction": func(ctx context.Context, _ *cache.Tiers, c things) error {
			for k := 2; k < 100; k++ {
				if err := c.Set(ctx, k, strings.Repeat("x", 1<<15)); err != nil {
					return err
				}
			}
			return c.DeleteAll(ctx)
		},
	} {
		t.Run(name, func(t *testing.T) {
			reg := invalidate.NewRegistry(invalidate.RegistryConfig{})
			tiers := open(t, cache.TiersConfig{Registry: reg, Local: local.New(local.Config{MaxBytes: 1 << 20})})
			c := with(t, tiers, thingConfig{Tags: tagT, Load: (&source{}).load})
			for range 2 { // it comes back
				get(t, c, 1)
				if len(reg.Entities(thingKey("things", 1))) == 0 {
					t.Error("it was not registered")
				}
				if err := leave(t.Context(), tiers, c); err != nil {
					t.Fatal(err)
				}
				if keys, entities, pairs := reg.Len(); keys+entities+pairs != 0 {
					t.Errorf("%d keys, %d entities, %d pairs are left", keys, entities, pairs)
				}
			}
		})
	}
}

// The late end of an older entry is not the newer one's.
func TestRegistryOutlivesReplaced(t *testing.T) {
	reg := invalidate.NewRegistry(invalidate.RegistryConfig{})
	c := with(t, open(t, cache.TiersConfig{Registry: reg}), thingConfig{Tags: tagT, Load: (&source{}).load})
	for i := range 3 {
		if err := c.Set(t.Context(), 1, "set", cache.Tags(fmt.Sprint("v", i))); err != nil {
			t.Fatal(err)
		}
		wantEntities(t, reg, thingKey("things", 1), entity("t"), entity(fmt.Sprint("v", i)))
	}
	if err := c.Refresh(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	wantEntities(t, reg, thingKey("things", 1), entity("t"))
	wantCovered(t, reg, "v2")
}

// A full registry costs hits, and never an invalidation.
func TestFullRegistry(t *testing.T) {
	reg := invalidate.NewRegistry(invalidate.RegistryConfig{MaxKeys: 2})
	src := &source{}
	tiers := open(t, cache.TiersConfig{Registry: reg})
	c := with(t, tiers, thingConfig{Tags: tagT, Load: src.load})
	for k := range 3 {
		get(t, c, k)
	}
	wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Local})
	wantFetch(t, c, 2, fetched{Value: "2.2", Source: cache.Load})
	if n := total(tiers).FillsUnregistered; n != 2 {
		t.Errorf("FillsUnregistered = %d, want 2", n)
	}
	invalidateTag(t, tiers, "t")
	wantFetch(t, c, 2, fetched{Value: "2.3", Source: cache.Load})
	wantFetch(t, c, 2, fetched{Value: "2.3", Source: cache.Local})
}

// dumb is a local tier that does not tell of evictions.
type dumb struct{ tier.Local }

func TestRegistryNeedsEvictions(t *testing.T) {
	_, err := cache.Open(cache.TiersConfig{
		Local: dumb{local.New(local.Config{})}, Registry: invalidate.NewRegistry(invalidate.RegistryConfig{}),
	})
	if err == nil || !strings.Contains(err.Error(), "Registry") {
		t.Errorf("Open = %v, want an error about the field Registry", err)
	}
}

// After all sorts of traffic side by side, the registry has what is there and
// nothing else.
func TestRegistryChurn(t *testing.T) {
	reg := invalidate.NewRegistry(invalidate.RegistryConfig{})
	there := map[string]bool{}
	tiers := open(t, cache.TiersConfig{Registry: reg, Local: local.New(local.Config{MaxBytes: 1 << 20})})
	c := with(t, tiers, thingConfig{Tags: func(k int, _ string) []string { return []string{fmt.Sprint("mod", k%7)} }, Load: (&source{}).load})
	keys := 100_000
	if testing.Short() {
		keys /= 10
	}
	crowd(8, func(g int) {
		for i := range keys / 8 {
			k := i*8 + g
			_, err := c.Get(t.Context(), k)
			if err == nil && i%97 == 0 {
				err = c.Set(t.Context(), k-8*5, "set")
			}
			if err == nil && i%101 == 0 {
				err = c.Delete(t.Context(), k-8*9)
			}
			if err == nil && i%4001 == 0 {
				err = tiers.Invalidate(t.Context(), invalidate.Tag(cache.DefaultTenant, fmt.Sprint("mod", i%7)))
			}
			if err != nil {
				t.Error(err)
				return
			}
		}
	})
	_, entries := tiers.Stats().Local.Bytes, tiers.Stats().Local.Entries
	registered, entities, pairs := reg.Len()
	if int64(registered) > entries || registered == 0 || pairs != registered || entities > 7 {
		t.Errorf("%d keys, %d entities and %d pairs are registered; %d entries are there", registered, entities, pairs, entries)
	}
	for i := range 7 {
		for _, k := range reg.Covered(invalidate.Tag(cache.DefaultTenant, fmt.Sprint("mod", i))) {
			there[k] = true
		}
	}
	// What can be read without a load is registered, and what is registered can be read.
	for k := range keys {
		if _, ok := c.Peek(t.Context(), k); ok != there[thingKey("things", k)] {
			t.Fatalf("key %d is readable: %t, registered: %t", k, ok, !ok)
		}
	}
}
