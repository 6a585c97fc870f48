package cache_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// foreignCodec is a codec that is not registered with any Tiers.
type foreignCodec struct{ codec.Codec }

func (foreignCodec) ID() string { return "foreign" }

func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  cache.TiersConfig
		text string
	}{
		{"MaxLoads", cache.TiersConfig{MaxLoads: -1}, "MaxLoads: -1 is negative: set it to 1 or more, or leave it 0"},
		{"MaxRefreshes", cache.TiersConfig{MaxRefreshes: -1}, "MaxRefreshes"},
		{"MaxFlights", cache.TiersConfig{MaxFlights: -1}, "MaxFlights"},
		{"MaxTenants", cache.TiersConfig{MaxTenants: -1}, "MaxTenants"},
		{"ClaimTTL", cache.TiersConfig{ClaimTTL: time.Microsecond}, "ClaimTTL: 1µs is negative or rounds to zero: set it to 1ms or more"},
		{"local tier", cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1})}, "Local"},
		{"codec twice", cache.TiersConfig{Codecs: []codec.Codec{codec.JSON}}, "Codecs"},
		{"policies", cache.TiersConfig{Policies: policy.Table{{Tenant: "a:b"}, {Patch: patch{Jitter: new(math.NaN())}}}}, "Jitter"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tiers, err := cache.Open(tt.cfg)
			if err == nil {
				_ = tiers.Close(t.Context())
			}
			if err == nil || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Open: %v, want an error about %s", err, tt.text)
			}
		})
	}
}

// calls calls every method of a cache that can fail, and returns their errors.
func calls[K comparable](t *testing.T, c cache.Cache[K, string], k K) map[string]error {
	ctx := t.Context()
	_, get := c.Get(ctx, k)
	_, load := c.GetOrLoad(ctx, k, nil)
	_, fetch := c.Fetch(ctx, k, nil)
	_, many := c.GetMany(ctx, []K{k})
	if _, ok := c.Peek(ctx, k); ok {
		t.Error("Peek finds something")
	}
	return map[string]error{
		"Get": get, "GetOrLoad": load, "Fetch": fetch, "GetMany": many, "Set": c.Set(ctx, k, "v"),
		"Delete": c.Delete(ctx, k), "Expire": c.Expire(ctx, k), "Refresh": c.Refresh(ctx, k),
	}
}

func TestBadKeysAndTenants(t *testing.T) {
	loads := 0
	tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
	c := with(t, tiers, cache.Config[string, string]{Load: func(context.Context, string) (string, error) { loads++; return "v", nil }})
	for _, tt := range []struct {
		name   string
		cache  cache.Cache[string, string]
		key    string
		tenant bool
		is     error
	}{
		{"empty key", c, "", false, key.ErrEmpty},
		{"over-long key", c, strings.Repeat("x", key.MaxLen), false, key.ErrTooLong},
		{"empty tenant", c.Tenant(""), "k", true, key.ErrEmpty},
		{"colon in the tenant", c.Tenant("a:b"), "k", true, key.ErrSeparator},
		{"over-long tenant", c.Tenant(strings.Repeat("x", key.MaxLen)), "k", true, key.ErrTooLong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for method, err := range calls(t, tt.cache, tt.key) {
				if _, ok := errors.AsType[*cache.Error](err); !ok || !errors.Is(err, tt.is) {
					t.Errorf("%s: %v, want an *Error with %v", method, err, tt.is)
				}
			}
			if err := tt.cache.DeleteAll(t.Context()); (err != nil) != tt.tenant {
				t.Errorf("DeleteAll: %v", err)
			}
		})
	}
	if loads != 0 {
		t.Errorf("%d loads for invalid keys", loads)
	}
}

func TestZeroCache(t *testing.T) {
	var c cache.Cache[int, string]
	for _, c := range []cache.Cache[int, string]{c, c.Tenant("acme")} {
		for method, err := range calls(t, c, 1) {
			if _, ok := errors.AsType[*cache.Error](err); !ok || !strings.Contains(err.Error(), "zero Cache") {
				t.Errorf("%s: %v, want an *Error about the zero Cache", method, err)
			}
		}
		if err := c.DeleteAll(t.Context()); err == nil {
			t.Error("DeleteAll succeeded")
		}
	}
}

func TestNoLoader(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{})
	_, err := c.Get(t.Context(), 1)
	wantError(t, err, "get", cell1, cache.ErrMiss)
	_, err = c.Fetch(t.Context(), 1, nil)
	wantError(t, err, "get", cell1, cache.ErrMiss)
	wantError(t, c.Refresh(t.Context(), 1), "refresh", cell1, cache.ErrMiss)
	succeeds(t, c.Set(t.Context(), 2, "two"))
	if m, err := c.GetMany(t.Context(), []int{1, 2}); m[2] != "two" || !errors.Is(err, cache.ErrMiss) {
		t.Errorf("GetMany = %v, %v, want two and ErrMiss", m, err)
	}
	if v, err := c.GetOrLoad(t.Context(), 1, (&source{}).load); v != "1.1" || err != nil {
		t.Errorf("GetOrLoad with a loader = %q, %v", v, err)
	}
}

func TestContextAlreadyCancelled(t *testing.T) {
	src := &source{}
	remote := faulty()
	c := with(t, open(t, cache.TiersConfig{Remote: remote}), thingConfig{Load: src.load})
	get(t, c, 1)
	remote.ResetCalls()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := c.Get(ctx, 1); v != "1.1" || err != nil {
		t.Errorf("Get of a local hit with a cancelled context = %q, %v", v, err)
	}
	_, err := c.Get(ctx, 2)
	wantError(t, err, "get", "default:things:2", context.Canceled)
	m, err := c.GetMany(ctx, []int{1, 2, 3})
	if len(m) != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("GetMany = %v, %v, want the local value and the context's error", m, err)
	}
	if n := remote.Calls(); n != 0 {
		t.Errorf("%d remote calls after the context was cancelled", n)
	}
	src.wantLoads(t, 1)
}
