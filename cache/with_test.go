package cache_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// A call's own policy counts after the Config and the table, and before TTL. It counts for that
// call, and for the refreshes that it causes.
func TestWith(t *testing.T) {
	table := cache.TiersConfig{Policies: policy.Table{{Patch: patch{TTL: new(20 * time.Second)}}}}
	for _, tt := range []struct {
		tc   cache.TiersConfig
		call string
		own  patch
		life time.Duration
	}{
		{call: "gets any", life: 10 * time.Second},
		{call: "gets any own", life: 10 * time.Second},
		{call: "gets any With=1h", life: time.Hour},
		{call: "many any With=1h", life: time.Hour},
		{call: "sets any With=1h", life: time.Hour},
		{tc: table, call: "gets any", life: 20 * time.Second},
		{tc: table, call: "gets any With=1h", life: time.Hour},
		{tc: table, call: "gets any own", own: patch{NegativeTTL: new(time.Hour)}, life: 20 * time.Second},
		{call: "gets any TTL=1m With=1h", life: time.Minute},
		{call: "sets any With=1h TTL=1m", life: time.Minute},
		{call: "gets any With=1m With=1h", life: time.Hour},
	} {
		loads := 1
		if strings.HasPrefix(tt.call, "sets") {
			loads = 0
		}
		// The last load is by the policy of the cache.
		play(t, scene{name: tt.call, tc: tt.tc, own: tt.own, cfg: thingConfig{Policy: patch{TTL: new(10 * time.Second)}}, steps: fmt.Sprintf(`
			a %s; wait %v; a gets any; loads %d; wait 1ns; a gets any; loads %d; wait 20s; a gets any; loads %d`, tt.call, tt.life-1, loads, loads+1, loads+2)})
	}
}

// Every field that a call can feel counts from its own policy.
func TestWithFields(t *testing.T) {
	for name, tt := range map[string]scene{
		"NegativeTTL":  {own: patch{NegativeTTL: new(time.Hour)}, steps: "source absent; a gets absent load own; wait 59m59s; a gets absent local; loads 1"},
		"ErrorTTL":     {own: patch{ErrorTTL: new(time.Minute)}, steps: "source fails; a gets failed own; a gets remembered local; loads 1"},
		"StaleIfError": {own: patch{StaleIfError: new(time.Hour)}, steps: "a gets 1.1 load own; source fails; wait 1m; a gets 1.1 local stale own"},
		"Stale, of the refresh too": {own: patch{Stale: new(time.Hour)}, steps: `
			a gets 1.1 load own; wait 1s; a gets 1.1; wait 1m; a gets 1.1 local stale own; wait 1s; a gets 1.2; wait 1m; a gets 1.2 local stale`},
		"SoftTimeout": {own: patch{Stale: new(time.Second), StaleIfError: new(time.Hour), SoftTimeout: new(10 * time.Millisecond)}, steps: `
			a gets 1.1 load own; wait 2m; source takes=1s; a gets 1.1 local stale own; took 10ms
			wait 3m; a gets 1.3 load own Fresh; took 1s`},
		"LoadTimeout":   {own: patch{LoadTimeout: new(time.Second)}, steps: "source takes=1m; a gets slow own; took 1s"},
		"MinLoad":       {own: patch{MinLoad: new(time.Hour)}, steps: "a gets 1.1 load own; a gets 1.2 load"},
		"MaxValueBytes": {own: patch{MaxValueBytes: new(2)}, steps: "a gets 1.1 load own; a sets too_long key=2 own large; a gets 1.2 load"},
		"LocalTTL":      {own: patch{LocalTTL: new(time.Second)}, steps: "a gets 1.1 load own; wait 1s; a gets 1.1 remote"},
		"Off": {own: patch{Off: new(true)}, steps: `
			a gets 1.1; a gets 1.2 load own; a gets 1.1 local; a many 1.3 own; a sets set own; a gets 1.4 load`},
		"Off shares no load":                  {own: patch{Off: new(true)}, steps: "source takes=1s; go a gets any; go a gets any own; wait 2s; loads 2; a peeks any"},
		"Off shares no load that comes later": {own: patch{Off: new(true)}, steps: "source takes=1s; go a gets any own; go a gets any; wait 2s; loads 2; a peeks any"},
	} {
		tt.name, tt.on = name, paired
		play(t, tt)
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
