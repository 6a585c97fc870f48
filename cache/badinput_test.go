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

func TestNewRefuses(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	long := strings.Repeat("x", key.MaxLen+1)
	with := func(p patch) thingConfig { return thingConfig{Namespace: "n", Policy: p} }
	for _, tt := range []struct {
		name string
		cfg  thingConfig
		is   error
		text string
	}{
		{"empty namespace", thingConfig{}, key.ErrEmpty, "namespace"},
		{"over-long namespace", thingConfig{Namespace: long}, key.ErrTooLong, "namespace"},
		{"over-long tenant", thingConfig{Namespace: "n", Tenant: long}, key.ErrTooLong, "tenant"},
		{"colon in the tenant", thingConfig{Namespace: "n", Tenant: "a:b"}, key.ErrSeparator, "tenant"},
		{"negative batch", thingConfig{Namespace: "n", MaxBatch: -1}, nil, "MaxBatch"},
		{"unregistered codec", thingConfig{Namespace: "n", Codec: foreignCodec{codec.JSON}}, nil, "not registered"},
		{"NaN jitter", with(patch{Jitter: new(math.NaN())}), policy.ErrInvalid, "Jitter"},
		{"negative TTL", with(patch{TTL: new(-time.Second)}), policy.ErrInvalid, "TTL"},
		{"negative Stale", with(patch{Stale: new(-time.Second)}), policy.ErrInvalid, "Stale"},
		{"TTL below jitter", with(patch{TTL: new(time.Millisecond), Jitter: new(0.5)}), policy.ErrInvalid, "TTL"},
		{"Soft > Load", with(patch{Stale: new(time.Minute), SoftTimeout: new(time.Hour)}), policy.ErrInvalid, "SoftTimeout"},
		{"no LoadTimeout", with(patch{LoadTimeout: new(time.Duration(0))}), policy.ErrInvalid, "LoadTimeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := cache.New(tiers, tt.cfg)
			if err == nil || !strings.Contains(err.Error(), tt.text) || (tt.is != nil && !errors.Is(err, tt.is)) {
				t.Errorf("New: %v, want an error about %s that is %v", err, tt.text, tt.is)
			}
		})
	}
	t.Run("all faults at once", func(t *testing.T) {
		_, err := cache.New(tiers, thingConfig{Tenant: "a:b", MaxBatch: -1, Policy: patch{TTL: new(-time.Second), Jitter: new(2.0)}})
		for _, want := range []string{"tenant", "MaxBatch", "TTL", "Jitter"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("New: %v, want an error that names %s, too", err, want)
			}
		}
	})
	t.Run("nil tiers", func(t *testing.T) {
		if _, err := cache.New[int, int](nil, cache.Config[int, int]{Namespace: "n"}); err == nil {
			t.Error("New accepted nil")
		}
	})
	t.Run("keys that share a spelling", func(t *testing.T) {
		type bad struct{ hidden int }
		_, err := cache.New(tiers, cache.Config[bad, int]{Namespace: "n"})
		if !errors.Is(err, key.ErrType) {
			t.Errorf("New: %v, want ErrType", err)
		}
		_ = bad{}.hidden
		if _, err := cache.New(tiers, cache.Config[*int, int]{Namespace: "n"}); !errors.Is(err, key.ErrType) {
			t.Errorf("New: %v, want ErrType for pointers", err)
		}
	})
}

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
	wantError(t, err, "get", "default:things:1", cache.ErrMiss)
	_, err = c.Fetch(t.Context(), 1, nil)
	wantError(t, err, "get", "default:things:1", cache.ErrMiss)
	wantError(t, c.Refresh(t.Context(), 1), "refresh", "default:things:1", cache.ErrMiss)
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
	_, err = c.GetMany(ctx, []int{2, 3})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("GetMany: %v", err)
	}
	if n := remote.Calls(); n != 0 {
		t.Errorf("%d remote calls after the context was cancelled", n)
	}
	src.wantLoads(t, 1)
}

func TestUnencodableSet(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), cache.Config[int, float64]{})
	err := c.Set(t.Context(), 1, math.NaN())
	wantError(t, err, "set", "default:things:1", codec.ErrValue)
}
