package cache_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
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
		fails(t, tiers.SetPolicies(policy.Table{{Patch: patch{TTL: new(-time.Second), Jitter: new(math.NaN())}}}), policy.ErrInvalid, "SetPolicies with a faulty table")
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

// A cache that is off loads at each read, and calls no tier. When it is on again, a stored value is
// still valid.
func TestOff(t *testing.T) {
	for _, many := range []bool{false, true} {
		play(
			t,
			scene{name: fmt.Sprint("by Config, LoadMany ", many), on: paired, many: many, cfg: thingConfig{Policy: patch{Off: new(true)}}, steps: `
				a gets 1.1 load; a many 1.2; a peeks nothing; a gets 1.3 load; a many 1.4; a peeks nothing; a calls 0`},
			scene{name: fmt.Sprint("switched, LoadMany ", many), on: paired, many: many, steps: `
				a gets 1.1; a gets 1.1 local; policy off; a calls any; a gets 1.2 load; a many 1.3; a peeks nothing; a calls 0
				policy on; a gets 1.1 local`},
		)
	}
}

// After LocalTTL a read and a Peek ask the remote tier. While it is unreachable, the local value is
// still fresh.
func TestLocalTTL(t *testing.T) {
	cfg := thingConfig{Policy: patch{TTL: new(time.Hour), LocalTTL: new(5 * time.Second)}}
	play(
		t,
		scene{name: "reads", on: paired, cfg: cfg, steps: `
			a gets 1.1; b gets 1.1; a sets new; wait 4s; b gets 1.1 local; wait 1s; b gets new remote
			remote fails; wait 6s; b gets new local; loads 1`},
		scene{name: "Peek", on: paired, cfg: cfg, steps: `
			a gets 1.1; b gets 1.1; a sets new; b peeks 1.1; wait 6s; remote fails; b peeks 1.1
			remote well; wait 1m; b peeks new; a deletes; b peeks new; wait 6s; b peeks nothing`},
	)
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

// Policies returns the policies in force. The table overrides Config.Policy. A tenant is listed
// only where its policy differs.
func TestPolicies(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	with(t, tiers, thingConfig{Namespace: "things", Policy: patch{TTL: new(time.Hour)}})
	with(t, tiers, thingConfig{Namespace: "others"})
	check := func(want ...cache.SpacePolicy) {
		t.Helper()
		same(t, want, tiers.Policies(), "Policies")
	}
	of := func(ttl time.Duration) policy.Policy { // the policy of a cache that with returns
		return patch{TTL: new(ttl), Jitter: new(0.0)}.Apply(policy.Default())
	}
	check(cache.SpacePolicy{"others", "", of(time.Minute)}, cache.SpacePolicy{"things", "", of(time.Hour)})
	err := tiers.SetPolicies(policy.Table{
		{Namespace: "things", Patch: patch{TTL: new(2 * time.Hour)}},
		{Tenant: "acme", Namespace: "things", Patch: patch{TTL: new(3 * time.Hour)}},
		{Tenant: "acme", Namespace: "others", Patch: patch{TTL: new(time.Minute)}},
		{Tenant: "alike", Namespace: "things", Patch: patch{TTL: new(2 * time.Hour)}},
		{Tenant: "off", Patch: patch{TTL: new(time.Second)}},
	})
	must(t, err)
	check(
		cache.SpacePolicy{"others", "", of(time.Minute)}, cache.SpacePolicy{"others", "off", of(time.Second)},
		cache.SpacePolicy{"things", "", of(2 * time.Hour)}, cache.SpacePolicy{"things", "acme", of(3 * time.Hour)},
		cache.SpacePolicy{"things", "off", of(time.Second)},
	)
}

// A table may name a namespace that no cache has. That is logged once, and shown.
func TestUnusedPolicies(t *testing.T) {
	var said strings.Builder
	off := patch{Off: new(true)}
	tiers := open(t, cache.TiersConfig{
		Policies: policy.Table{{Namespace: "other", Patch: off}}, Logger: slog.New(slog.NewTextHandler(&said, nil)),
	})
	set := func(table policy.Table, want []string, lines int) {
		t.Helper()
		must(t, tiers.SetPolicies(table))
		same(t, want, tiers.UnusedPolicies(), "UnusedPolicies")
		if n := strings.Count(said.String(), "a policy does nothing"); n != lines {
			t.Errorf("%d warnings, want %d:\n%s", n, lines, said.String())
		}
	}
	same(t, []string{"other"}, tiers.UnusedPolicies(), "UnusedPolicies of Open's table")
	set(policy.Table{{Namespace: "users", Patch: off}}, []string{"users"}, 0) // there is no cache yet
	with(t, tiers, thingConfig{Namespace: "users:v1"})
	table := policy.Table{
		{Namespace: "users", Patch: off},
		{Namespace: "users", Tenant: "acme", Patch: off},
		{Namespace: "users:v1", Patch: off},
		{Tenant: "acme", Patch: off},
		{Patch: off},
		{Namespace: "pages", Patch: off},
	}
	set(table, []string{"pages", "users"}, 2)
	set(table, []string{"pages", "users"}, 2)
	set(nil, nil, 2)
	if s := said.String(); !strings.Contains(s, "namespace=users\n") || !strings.Contains(s, "namespace=pages\n") {
		t.Errorf("the warnings do not name the namespaces:\n%s", s)
	}
}

// A remote tier without a log is worth one warning, unless other processes cannot serve old values
// for long, or nothing is shared.
func TestRemoteWithoutLog(t *testing.T) {
	remote := func() cache.TiersConfig { return cache.TiersConfig{Remote: tiertest.NewMemory()} }
	logged := func() cache.TiersConfig {
		cfg := remote()
		cfg.Log = logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second})
		return cfg
	}
	overridden := func() cache.TiersConfig {
		cfg := remote()
		cfg.Policies = policy.Table{{Patch: patch{LocalTTL: new(time.Second)}}}
		return cfg
	}
	for name, tt := range map[string]struct {
		tiers func() cache.TiersConfig
		cfg   thingConfig
		warns bool
	}{
		"remote alone":        {tiers: remote, warns: true},
		"LocalTTL":            {tiers: remote, cfg: thingConfig{Policy: patch{LocalTTL: new(time.Second)}}},
		"LocalTTL, overrides": {tiers: overridden},
		"LocalOnly":           {tiers: remote, cfg: thingConfig{LocalOnly: true}},
		"off":                 {tiers: remote, cfg: thingConfig{Policy: patch{Off: new(true)}}},
		"a log":               {tiers: logged},
		"no remote tier":      {tiers: func() cache.TiersConfig { return cache.TiersConfig{} }},
	} {
		bubble(t, name, func(t *testing.T) {
			var said strings.Builder
			cfg := tt.tiers()
			cfg.Logger = slog.New(slog.NewTextHandler(&said, nil))
			tiers := open(t, cfg)
			for _, namespace := range []string{"one", "two"} {
				tt.cfg.Namespace = namespace
				with(t, tiers, tt.cfg)
			}
			n := strings.Count(said.String(), "there is a remote tier and no log")
			if (n == 1) != tt.warns || n > 1 || tt.warns && (!strings.Contains(said.String(), "LocalTTL") || !strings.Contains(said.String(), "TiersConfig.Log")) {
				t.Errorf("%d warnings, want one: %v\n%s", n, tt.warns, said.String())
			}
		})
	}
}

// An Entry reports its age, and whether it is fresh.
func TestEntryAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stored cache.Entry
		src := &source{}
		tiers := open(t, cache.TiersConfig{OnStored: func(e cache.Entry) { stored = e }})
		things := with(t, tiers, thingConfig{Load: src.load, Policy: patch{TTL: new(time.Minute), Jitter: new(0.0), Stale: new(time.Minute), StaleIfError: new(time.Minute)}})
		get(t, things, 1)
		for _, step := range []struct {
			wait         time.Duration
			age          time.Duration
			stale, alive bool
		}{
			{0, 0, false, true},
			{59 * time.Second, 59 * time.Second, false, true},
			{time.Second, time.Minute, true, true},
			{time.Minute, 2 * time.Minute, true, true},
			{time.Minute, 3 * time.Minute, true, false},
		} {
			advance(step.wait)
			if age, stale, alive := stored.Age(), stored.Stale(), stored.Alive(); age != step.age || stale != step.stale || alive != step.alive {
				t.Errorf("after %v: age %v, stale %t, alive %t; want %v, %t, %t", step.wait, age, stale, alive, step.age, step.stale, step.alive)
			}
		}
		get(t, things, 1)
		if err := things.Expire(t.Context(), 1); err != nil || !stored.Stale() || !stored.Alive() {
			t.Errorf("after Expire (%v): stale %t, alive %t; want true, true", err, stored.Stale(), stored.Alive())
		}
		if err := things.Delete(t.Context(), 1); err != nil || !stored.Stale() || stored.Alive() {
			t.Errorf("after Delete (%v): stale %t, alive %t; want true, false", err, stored.Stale(), stored.Alive())
		}
		others := with(t, tiers, thingConfig{Namespace: "others", Load: src.load})
		get(t, others, 1)
		if err := others.Expire(t.Context(), 1); err != nil || stored.Alive() {
			t.Errorf("after Expire without Stale (%v): the entry is alive", err)
		}
	})
}
