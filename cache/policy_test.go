package cache_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// Policies can be overridden by tenant, by namespace and by both, while the cache runs.
func TestSetPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		tiers := open(t, cache.TiersConfig{})
		things := with(t, tiers, thingConfig{Namespace: "things", Load: src.load})
		others := with(t, tiers, thingConfig{Namespace: "others", Load: src.load})
		// life returns how long a value stays fresh that is stored now.
		key := 0
		life := func(c cache.Cache[int, string]) time.Duration {
			key++
			get(t, c, key)
			start := time.Now()
			for r, err := c.Fetch(t.Context(), key, nil); r.Source == cache.Local; r, err = c.Fetch(t.Context(), key, nil) {
				must(t, err)
				advance(time.Second)
			}
			return time.Since(start)
		}
		check := func(step string, want [4]int) {
			t.Helper()
			got := [4]time.Duration{life(things), life(things.Tenant("acme")), life(others), life(others.Tenant("acme"))}
			for i := range want {
				if int(got[i].Seconds()) != want[i] {
					t.Errorf("%s: lives of things, things of acme, others, others of acme = %v, want %v", step, got, want)
					break
				}
			}
		}
		set := func(text string) {
			t.Helper()
			var table policy.Table
			must(t, json.Unmarshal([]byte(text), &table))
			must(t, tiers.SetPolicies(table))
		}
		check("no overrides", [4]int{60, 60, 60, 60})
		set(`[{"namespace":"things","ttl":"10s"}]`)
		check("by namespace", [4]int{10, 10, 60, 60})
		set(`[{"namespace":"things","ttl":"10s"},{"tenant":"acme","ttl":"20s"}]`)
		check("by tenant too", [4]int{10, 20, 60, 20})
		set(`[{"tenant":"acme","namespace":"things","ttl":"30s"},{"tenant":"acme","ttl":"20s"},{"namespace":"things","ttl":"10s"},{"ttl":"40s"}]`)
		check("by both", [4]int{10, 30, 40, 20})
		if err := tiers.SetPolicies(policy.Table{{Patch: patch{TTL: new(-time.Second), Jitter: new(math.NaN())}}}); !errors.Is(err, policy.ErrInvalid) {
			t.Errorf("SetPolicies with a faulty table = %v, want ErrInvalid", err)
		}
		check("after a refused table", [4]int{10, 30, 40, 20})
		succeeds(t, tiers.SetPolicies(nil))
		check("none again", [4]int{60, 60, 60, 60})
	})
}

// A table may be valid alone but not together with a namespace's own policy.
func TestSetPoliciesChecksEveryNamespace(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	with(t, tiers, thingConfig{Policy: patch{Stale: new(time.Minute), SoftTimeout: new(time.Second)}})
	err := tiers.SetPolicies(policy.Table{{Namespace: "things", Patch: patch{LoadTimeout: new(500 * time.Millisecond)}}})
	if !errors.Is(err, policy.ErrInvalid) {
		t.Errorf("SetPolicies = %v, want ErrInvalid: SoftTimeout is above LoadTimeout", err)
	}
}

func TestOff(t *testing.T) {
	for _, how := range []string{"config", "switched"} {
		bubble(t, how, func(t *testing.T) {
			src, remote := &source{}, faulty()
			tiers := open(t, cache.TiersConfig{Remote: remote})
			cfg := thingConfig{Load: src.load, LoadMany: src.loadMany}
			off := patch{Off: new(true)}
			if how == "config" {
				cfg.Policy = off
			}
			c := with(t, tiers, cfg)
			if how == "switched" {
				get(t, c, 1)
				get(t, c, 1)
				must(t, tiers.SetPolicies(policy.Table{{Namespace: "things", Patch: off}}))
			}
			remote.ResetCalls()
			before := src.total()
			for range 3 {
				if r, err := c.Fetch(t.Context(), 1, nil); r.Source != cache.Load || err != nil {
					t.Errorf("Fetch = %+v, %v, want a load", r, err)
				}
				if m, err := c.GetMany(t.Context(), []int{1, 2}); len(m) != 2 || err != nil {
					t.Errorf("GetMany = %v, %v", m, err)
				}
				if _, ok := c.Peek(t.Context(), 1); ok {
					t.Error("Peek finds something")
				}
			}
			if n := src.total() - before; n != 9 {
				t.Errorf("%d loads for 9 reads", n)
			}
			if n := remote.Calls(); n != 0 {
				t.Errorf("%d remote calls, want none", n)
			}
			if how == "switched" { // after switching on again the stored value is still valid
				succeeds(t, tiers.SetPolicies(nil))
				wantFetch(t, c, 1, fetched{"1.1", cache.Local, false, nil})
			}
		})
	}
}

// Peek asks the remote tier for a value whose LocalTTL has passed, as a read does.
func TestPeekAfterLocalTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		_, cs := fleet(t, 2, remote, cache.TiersConfig{}, thingConfig{Load: src.load, Policy: patch{TTL: new(time.Hour), LocalTTL: new(5 * time.Second)}})
		peek := func(want string) {
			t.Helper()
			if v, ok := cs[1].Peek(t.Context(), 1); v != want || ok != (want != "") {
				t.Errorf("Peek = %q, %v; want %q", v, ok, want)
			}
		}
		get(t, cs[0], 1)
		get(t, cs[1], 1)
		succeeds(t, cs[0].Set(t.Context(), 1, "new"))
		peek("1.1")
		advance(6 * time.Second)
		remote.Fail(errRemote)
		peek("1.1")
		remote.Heal()
		advance(time.Minute) // the breaker closes
		peek("new")
		succeeds(t, cs[0].Delete(t.Context(), 1))
		peek("new")
		advance(6 * time.Second)
		peek("")
	})
}

func TestLocalTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		_, cs := fleet(t, 2, remote, cache.TiersConfig{}, thingConfig{Load: src.load, Policy: patch{LocalTTL: new(5 * time.Second)}})
		get(t, cs[0], 1)
		get(t, cs[1], 1)
		succeeds(t, cs[0].Set(t.Context(), 1, "new"))
		advance(4 * time.Second)
		wantFetch(t, cs[1], 1, fetched{"1.1", cache.Local, false, nil})
		advance(time.Second)
		wantFetch(t, cs[1], 1, fetched{"new", cache.Remote, false, nil})
		// While the remote tier is unreachable, the local value is still fresh.
		remote.Fail(errRemote)
		advance(6 * time.Second)
		wantFetch(t, cs[1], 1, fetched{"new", cache.Local, false, nil})
		src.wantLoads(t, 1)
	})
}

// The jitter depends on the key, and is the same in every process.
func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := thingConfig{Policy: patch{TTL: new(100 * time.Second), Jitter: new(0.15)}}
		_, cs := fleet(t, 2, nil, cache.TiersConfig{}, cfg)
		const keys = 400
		for k := range keys {
			for _, c := range cs {
				succeeds(t, c.Set(t.Context(), k, "v"))
			}
		}
		ends := map[int]int{}
		for range 120 {
			for k := range keys {
				_, a := cs[0].Peek(t.Context(), k)
				_, b := cs[1].Peek(t.Context(), k)
				if a != b {
					t.Fatalf("key %d expires at different times in the two processes", k)
				}
				if a {
					ends[k]++
				}
			}
			advance(time.Second)
		}
		sum := 0
		for k, n := range ends {
			if n < 85 || n > 116 {
				t.Errorf("key %d was cached for %d s, want 85 to 115", k, n)
			}
			sum += n
		}
		if mean := float64(sum) / keys; mean < 98 || mean > 103 {
			t.Errorf("the mean lifetime is %.1f s, want about 100", mean)
		}
	})
}
