package cache_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A call's own policy counts after the Config and the table, and before TTL. It counts for that
// call, and for the refreshes that it causes.
func TestWith(t *testing.T) {
	cfg := patch{TTL: new(10 * time.Second), Jitter: new(0.0)}
	hour := patch{TTL: new(time.Hour)}
	table := policy.Table{{Patch: patch{TTL: new(20 * time.Second)}}}
	many := func(t *testing.T, c things, opts ...cache.Option) {
		t.Helper()
		if _, err := c.GetMany(t.Context(), []int{1}, opts...); err != nil {
			t.Error(err)
		}
	}
	set := func(t *testing.T, c things, opts ...cache.Option) {
		t.Helper()
		succeeds(t, c.Set(t.Context(), 1, "set", opts...))
	}
	fetch := func(t *testing.T, c things, opts ...cache.Option) {
		t.Helper()
		if _, err := c.Fetch(t.Context(), 1, nil, opts...); err != nil {
			t.Error(err)
		}
	}
	for _, tt := range []struct {
		name  string
		table policy.Table
		call  func(t *testing.T, c things, opts ...cache.Option)
		opts  []cache.Option
		life  time.Duration
	}{
		{"none", nil, fetch, nil, 10 * time.Second},
		{"an empty patch", nil, fetch, []cache.Option{cache.With(patch{})}, 10 * time.Second},
		{"Fetch", nil, fetch, []cache.Option{cache.With(hour)}, time.Hour},
		{"GetMany", nil, many, []cache.Option{cache.With(hour)}, time.Hour},
		{"Set", nil, set, []cache.Option{cache.With(hour)}, time.Hour},
		{"a table, none", table, fetch, nil, 20 * time.Second},
		{"a table", table, fetch, []cache.Option{cache.With(hour)}, time.Hour},
		{"a table, another field", table, fetch, []cache.Option{cache.With(patch{NegativeTTL: new(time.Hour)})}, 20 * time.Second},
		{"TTL first", nil, fetch, []cache.Option{cache.TTL(time.Minute), cache.With(hour)}, time.Minute},
		{"TTL last", nil, set, []cache.Option{cache.With(hour), cache.TTL(time.Minute)}, time.Minute},
		{"the last of two", nil, fetch, []cache.Option{cache.With(patch{TTL: new(time.Minute)}), cache.With(hour)}, time.Hour},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src := &source{}
			tiers := open(t, cache.TiersConfig{Policies: tt.table})
			c := with(t, tiers, thingConfig{Load: src.load, Policy: cfg})
			tt.call(t, c, tt.opts...)
			loads := src.total()
			advance(tt.life - 1)
			get(t, c, 1)
			src.wantLoads(t, loads)
			advance(1)
			get(t, c, 1)
			src.wantLoads(t, loads+1)
			advance(10 * time.Second) // that load was by the policy of the cache
			if len(tt.table) == 0 {
				get(t, c, 1)
				src.wantLoads(t, loads+2)
			}
		})
	}
}

// Every field that a call can feel counts from its own policy.
func TestWithFields(t *testing.T) {
	for _, tt := range []struct {
		name string
		p    patch
		run  func(t *testing.T, c things, src *source, own cache.Option)
	}{
		{"NegativeTTL", patch{NegativeTTL: new(time.Hour)}, func(t *testing.T, c things, src *source, own cache.Option) {
			src.fail(cache.ErrNotFound)
			wantFetch(t, c, 1, fetched{Source: cache.Load, Err: cache.ErrNotFound}, own)
			advance(time.Hour - 1)
			wantFetch(t, c, 1, fetched{Source: cache.Local, Err: cache.ErrNotFound})
			src.wantLoads(t, 1)
		}},
		{"ErrorTTL", patch{ErrorTTL: new(time.Minute)}, func(t *testing.T, c things, src *source, own cache.Option) {
			src.fail(errSource)
			wantFetch(t, c, 1, fetched{Err: errSource}, own)
			wantFetch(t, c, 1, fetched{Source: cache.Local, Err: errSource})
			src.wantLoads(t, 1)
		}},
		{"StaleIfError", patch{StaleIfError: new(time.Hour)}, func(t *testing.T, c things, src *source, own cache.Option) {
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Load}, own)
			src.fail(errSource)
			advance(time.Minute)
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Local, Stale: true}, own)
		}},
		{"Stale, of the refresh too", patch{Stale: new(time.Hour)}, func(t *testing.T, c things, src *source, own cache.Option) {
			for i, want := range []string{"1.1", "1.2"} {
				wantFetch(t, c, 1, fetched{Value: "1.1", Source: [...]cache.Source{cache.Load, cache.Local}[i], Stale: i > 0}, own)
				advance(time.Second)
				if v := get(t, c, 1); v != want {
					t.Errorf("Get = %q, want %q", v, want)
				}
				advance(time.Minute)
			}
			wantFetch(t, c, 1, fetched{Value: "1.2", Source: cache.Local, Stale: true})
		}},
		{"SoftTimeout", patch{Stale: new(time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(10 * time.Millisecond)}, func(t *testing.T, c things, src *source, own cache.Option) {
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Load}, own)
			advance(2 * time.Minute)
			src.took = time.Second
			begun := time.Now()
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Local, Stale: true}, own)
			if took := time.Since(begun); took != 10*time.Millisecond {
				t.Errorf("it took %v, want 10ms", took)
			}
			advance(3 * time.Minute)
			wantFetch(t, c, 1, fetched{Value: "1.3", Source: cache.Load}, own, cache.Fresh()) // it waits
		}},
		{"LoadTimeout", patch{LoadTimeout: new(time.Second)}, func(t *testing.T, c things, src *source, own cache.Option) {
			src.took = time.Minute
			begun := time.Now()
			wantFetch(t, c, 1, fetched{Err: cache.ErrLoadTimeout}, own)
			if took := time.Since(begun); took != time.Second {
				t.Errorf("it took %v, want 1s", took)
			}
		}},
		{"MinLoad", patch{MinLoad: new(time.Hour)}, func(t *testing.T, c things, src *source, own cache.Option) {
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Load}, own)
			wantFetch(t, c, 1, fetched{Value: "1.2", Source: cache.Load})
		}},
		{"MaxValueBytes", patch{MaxValueBytes: new(2)}, func(t *testing.T, c things, src *source, own cache.Option) {
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Load}, own)
			if err := c.Set(t.Context(), 2, "too long", own); !errors.Is(err, cache.ErrTooLarge) {
				t.Errorf("Set: %v, want ErrTooLarge", err)
			}
			wantFetch(t, c, 1, fetched{Value: "1.2", Source: cache.Load})
		}},
		{"LocalTTL", patch{LocalTTL: new(time.Second)}, func(t *testing.T, c things, src *source, own cache.Option) {
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Load}, own)
			advance(time.Second)
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Remote})
		}},
		{"Off", patch{Off: new(true)}, func(t *testing.T, c things, src *source, own cache.Option) {
			get(t, c, 1)
			wantFetch(t, c, 1, fetched{Value: "1.2", Source: cache.Load}, own)
			wantFetch(t, c, 1, fetched{Value: "1.1", Source: cache.Local})
			if m, err := c.GetMany(t.Context(), []int{1}, own); m[1] != "1.3" || err != nil {
				t.Errorf("GetMany = %v, %v, want a load", m, err)
			}
			succeeds(t, c.Set(t.Context(), 1, "set", own))
			wantFetch(t, c, 1, fetched{Value: "1.4", Source: cache.Load})
		}},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			src := &source{}
			c := with(t, open(t, cache.TiersConfig{Remote: tiertest.NewMemory()}), thingConfig{Load: src.load})
			tt.run(t, c, src, cache.With(tt.p))
		})
	}
}

// A patch that makes no valid policy is refused before anything is done.
func TestWithRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		p     patch
		field string
	}{
		{"negative TTL", patch{TTL: new(-time.Second)}, "TTL"},
		{"TTL 0", patch{TTL: new(time.Duration(0))}, "TTL"},
		{"NaN jitter", patch{Jitter: new(math.NaN())}, "Jitter"},
		{"SoftTimeout on a cache without Stale", patch{SoftTimeout: new(time.Second)}, "SoftTimeout"},
		{"LoadTimeout 0", patch{LoadTimeout: new(time.Duration(0))}, "LoadTimeout"},
		{"Off false", patch{Off: new(false)}, "Off"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := &source{}
			c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.load})
			ctx, opt := t.Context(), cache.With(tt.p)
			for op, call := range map[string]func() error{
				"get":      func() error { _, err := c.Fetch(ctx, 1, nil, opt); return err },
				"get many": func() error { _, err := c.GetMany(ctx, []int{1}, opt); return err },
				"set":      func() error { return c.Set(ctx, 1, "v", opt) },
				"set many": func() error { return c.SetMany(ctx, map[int]string{1: "v"}, opt) },
			} {
				err := call()
				wrapped, ok := errors.AsType[*cache.Error](err)
				fault, named := errors.AsType[*policy.FieldError](err)
				if !ok || wrapped.Op != op || !errors.Is(err, cache.ErrOption) || !errors.Is(err, policy.ErrInvalid) || !named || fault.Field != tt.field {
					t.Errorf("%s: %v, want an ErrOption that names the field %s", op, err, tt.field)
				}
			}
			if _, ok := c.Peek(ctx, 1); ok {
				t.Error("a refused Set has set")
			}
			src.wantLoads(t, 0)
		})
	}
	t.Run("the zero Cache", func(t *testing.T) {
		if _, err := (things{}).Fetch(t.Context(), 1, nil, cache.With(patch{})); err == nil {
			t.Error("no error")
		}
	})
}

// One Option serves many caches, and follows the table of overrides. The kill switch wins.
func TestWithIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tiers := open(t, cache.TiersConfig{})
		lives := []time.Duration{time.Second, time.Minute, time.Hour}
		var caches []things
		for i, life := range lives {
			caches = append(caches, with(t, tiers, thingConfig{Namespace: string(rune('a' + i)), Policy: patch{TTL: &life}}))
		}
		own := cache.With(patch{NegativeTTL: new(time.Second)})
		key := 0
		check := func(table policy.Table, lives ...time.Duration) {
			t.Helper()
			must(t, tiers.SetPolicies(table))
			for range 2 {
				for i, c := range caches {
					key++
					loads := 0
					read := func() {
						_, err := c.GetOrLoad(t.Context(), key, func(context.Context, int) (string, error) { loads++; return "v", nil }, own)
						succeeds(t, err)
					}
					read()
					if lives[i] > 0 {
						advance(lives[i] - 1)
						read()
					}
					if loads != 1 {
						t.Errorf("table %v, cache %d: %d loads within %v, want 1", table, i, loads, lives[i])
					}
					advance(1)
					read()
					if loads != 2 {
						t.Errorf("table %v, cache %d: %d loads after %v, want 2", table, i, loads, lives[i])
					}
				}
			}
		}
		check(nil, lives...)
		check(policy.Table{{Patch: patch{TTL: new(time.Minute)}}}, time.Minute, time.Minute, time.Minute)
		check(policy.Table{{Namespace: "b", Patch: patch{Off: new(true)}}}, time.Second, 0, time.Hour)
	})
}

// A call that is off shares no load with one that is not: its value is not stored.
func TestWithOffSharesNothing(t *testing.T) {
	for _, offFirst := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			src := &source{took: time.Second}
			c := with(t, open(t, cache.TiersConfig{}), thingConfig{Load: src.load})
			crowd(2, func(i int) {
				<-time.After(time.Duration(i) * time.Millisecond)
				var opts []cache.Option
				if offFirst == (i == 0) {
					opts = append(opts, cache.With(patch{Off: new(true)}))
				}
				if _, err := c.Fetch(t.Context(), 1, nil, opts...); err != nil {
					t.Error(err)
				}
			})
			src.wantLoads(t, 2)
			if _, ok := c.Peek(t.Context(), 1); !ok {
				t.Errorf("off first: %v: the value of the call that was not off is not stored", offFirst)
			}
		})
	}
}
