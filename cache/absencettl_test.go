package cache_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Fill.SetTTL also sets how long an absence is remembered, in both tiers and in batches.
func TestSetTTLOfAnAbsence(t *testing.T) {
	for _, batch := range []bool{false, true} {
		for _, ttl := range []time.Duration{time.Second, time.Minute} { // NegativeTTL lies between
			bubble(t, fmt.Sprintf("%v, batch=%v", ttl, batch), func(t *testing.T) { setTTLOfAnAbsence(t, ttl, batch) })
		}
	}
}

func setTTLOfAnAbsence(t *testing.T, ttl time.Duration, batch bool) {
	var loads atomic.Int64
	cfg := thingConfig{Policy: patch{NegativeTTL: new(10 * time.Second)}}
	load := func(ctx context.Context) error {
		loads.Add(1)
		cache.Filling(ctx).SetTTL(ttl)
		return cache.ErrNotFound
	}
	cfg.Load = func(ctx context.Context, _ int) (string, error) { return "", load(ctx) }
	if batch {
		cfg.LoadMany = func(ctx context.Context, _ []int) (map[int]string, error) { return nil, load(ctx) }
	}
	_, cs := fleet(t, 2, tiertest.NewMemory(), cache.TiersConfig{}, cfg)
	read := func(c things) {
		t.Helper()
		if batch {
			if m, err := c.GetMany(t.Context(), []int{1, 2}); len(m) > 0 || err != nil {
				t.Errorf("GetMany = %v, %v, want nothing", m, err)
			}
			return
		}
		_, err := c.Get(t.Context(), 1)
		wantError(t, err, "get", cell1, cache.ErrNotFound)
	}
	read(cs[0])
	advance(ttl - 10*time.Millisecond)
	read(cs[0])
	read(cs[1])
	if n := loads.Load(); n != 1 {
		t.Errorf("%d loads just before the absence expires after %v, want 1", n, ttl)
	}
	advance(20 * time.Millisecond)
	read(cs[0])
	read(cs[1])
	if n := loads.Load(); n != 2 {
		t.Errorf("%d loads just after the absence expired after %v, want 2", n, ttl)
	}
}
