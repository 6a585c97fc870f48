package otter_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/otter"
)

// openCache returns a cache whose local tier is this one, and the tiers to inspect. A Set of the
// tier stores an item of the cache, which contains the node for tier/local.
func openCache(t *testing.T, cfg cache.TiersConfig, load cache.Loader[int, []byte]) (*cache.Tiers, cache.Cache[int, []byte]) {
	t.Helper()
	tiers, err := cache.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tiers.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	c, err := cache.New(tiers, cache.Config[int, []byte]{Namespace: "things:v1", Load: load})
	if err != nil {
		t.Fatal(err)
	}
	return tiers, c
}

func wantSource(t *testing.T, c cache.Cache[int, []byte], k int, want cache.Source, wantErr error) {
	t.Helper()
	r, err := c.Fetch(t.Context(), k, nil)
	if r.Source != want || !errors.Is(err, wantErr) {
		t.Fatalf("Fetch(%d) from %v, %v; want from %v, %v", k, r.Source, err, want, wantErr)
	}
}

func TestCache(t *testing.T) {
	var loads atomic.Int64
	tiers, c := openCache(t, cache.TiersConfig{Local: otter.New(otter.Config{})}, func(_ context.Context, k int) ([]byte, error) {
		loads.Add(1)
		if k < 0 {
			return nil, cache.ErrNotFound
		}
		return []byte{byte(k)}, nil
	})
	wantSource(t, c, 1, cache.Load, nil)
	wantSource(t, c, 1, cache.Local, nil)
	if err := c.Delete(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	wantSource(t, c, 1, cache.Load, nil)

	wantSource(t, c, -1, cache.Load, cache.ErrNotFound)
	wantSource(t, c, -1, cache.Local, cache.ErrNotFound) // the absence is remembered

	if err := c.Set(t.Context(), 2, []byte("two")); err != nil {
		t.Fatal(err)
	}
	if v, err := c.Get(t.Context(), 2); string(v) != "two" || err != nil {
		t.Errorf("Get(2) = %q, %v; want what was set", v, err)
	}
	if n := loads.Load(); n != 3 {
		t.Errorf("%d loads, want 3", n)
	}
	if n := tiers.Stats().Local.Entries; n != 3 {
		t.Errorf("%d entries, want 3", n)
	}
}

// With ten times more keys than fit, every value is resident right after its load. Each entry is
// either still resident or was reported once.
func TestCacheBudget(t *testing.T) {
	const budget, keys = 1 << 20, 10_000
	var left atomic.Int64
	tiers, c := openCache(t, cache.TiersConfig{
		Local:     otter.New(otter.Config{MaxBytes: budget}),
		OnRemoved: func(cache.Entry, tier.EvictReason) { left.Add(1) },
	}, func(context.Context, int) ([]byte, error) { return make([]byte, 1000), nil })
	most := int64(0)
	for k := range keys {
		wantSource(t, c, k, cache.Load, nil)
		wantSource(t, c, k, cache.Local, nil)
		most = max(most, tiers.Stats().Local.Bytes)
	}
	if limit := int64(budget + budget/20); most > limit {
		t.Errorf("the tier held %d bytes, want at most %d", most, limit)
	}
	if n := tiers.Stats().Local.Entries + left.Load(); n != keys {
		t.Errorf("%d are held or were reported, want %d", n, keys)
	}
}

func TestCacheRefusesWrongConfig(t *testing.T) {
	tiers, err := cache.Open(cache.TiersConfig{Local: otter.New(otter.Config{MaxBytes: 1})})
	if err == nil {
		_ = tiers.Close(t.Context())
		t.Fatal("Open with MaxBytes 1 = nil, want an error")
	}
}
