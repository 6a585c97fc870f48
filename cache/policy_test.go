package cache_test

import (
	"encoding/json"
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

// life returns for how many seconds a value of k that is stored now stays fresh.
func life(t *testing.T, c things, k int, opts ...cache.Option) (seconds int) {
	t.Helper()
	must(t, errOf(c.Fetch(t.Context(), k, nil, opts...)))
	for ; ; seconds++ {
		r, err := c.Fetch(t.Context(), k, nil, opts...)
		must(t, err)
		if r.Source != cache.Local || r.Stale {
			return seconds
		}
		advance(time.Second)
	}
}

// Policies can be overridden by tenant, by namespace and by both, while the cache runs. The own policy of
// a call changes no other field, whichever caches its Option has served, and the kill switch wins. A table
// that is faulty, alone or together with the policy of a namespace, is refused and changes nothing.
func TestSetPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, key, own := &source{}, 0, cache.With(patch{NegativeTTL: new(time.Hour)})
		tiers := open(t, cache.TiersConfig{})
		things := with(t, tiers, thingConfig{Namespace: "things", Load: src.load})
		others := with(t, tiers, thingConfig{Namespace: "others", Load: src.load, Policy: patch{
			TTL: new(50 * time.Second), Stale: new(time.Hour), SoftTimeout: new(time.Second),
		}})
		check := func(step string, want ...int) {
			t.Helper()
			for i, c := range []cache.Cache[int, string]{things, things.Tenant("acme"), others, others.Tenant("acme")} {
				for range 2 {
					key += 2
					equal(t, life(t, c, key), want[i], "%s, cache %d: life", step, i)
					equal(t, life(t, c, key+1, own), want[i], "%s, cache %d: life with a policy of the call", step, i)
				}
			}
		}
		set := func(text string) {
			t.Helper()
			var table policy.Table
			must(t, json.Unmarshal([]byte(text), &table))
			must(t, tiers.SetPolicies(table))
		}
		check("no overrides", 60, 60, 50, 50)
		set(`[{"namespace":"things","ttl":"10s"}]`)
		check("by namespace", 10, 10, 50, 50)
		set(`[{"namespace":"things","ttl":"10s"},{"tenant":"acme","ttl":"20s"}]`)
		check("by tenant", 10, 20, 50, 20)
		set(`[{"tenant":"acme","namespace":"things","ttl":"30s"},{"tenant":"acme","ttl":"20s"},{"namespace":"things","ttl":"10s"},{"ttl":"40s"}]`)
		check("by both", 10, 30, 40, 20)
		for _, faulty := range []patch{
			{TTL: new(-time.Second), Jitter: new(math.NaN())},
			{LoadTimeout: new(500 * time.Millisecond)}, // the SoftTimeout of others is above it
		} {
			fails(t, tiers.SetPolicies(policy.Table{{Namespace: "others", Patch: faulty}}), policy.ErrInvalid, "SetPolicies with a faulty table")
		}
		check("after refused tables", 10, 30, 40, 20)
		set(`[{"namespace":"others","off":true}]`)
		check("off", 60, 60, 0, 0)
		must(t, tiers.SetPolicies(nil))
		check("none again", 60, 60, 50, 50)
	})
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
		cfg := thingConfig{Load: (&source{}).load, Policy: patch{TTL: new(100 * time.Second), Jitter: new(0.15)}}
		_, cs := fleet(t, 2, nil, cache.TiersConfig{}, cfg)
		lives := map[int]int{}
		for k := range 100 {
			n := life(t, cs[0], k)
			equal(t, life(t, cs[1], k), n, "life of key %d in the other process", k)
			if lives[n]++; n < 85 || n > 116 {
				t.Errorf("key %d was cached for %d s, want 85 to 115", k, n)
			}
		}
		if len(lives) < 20 {
			t.Errorf("the lives of 100 keys have %d values: %v", len(lives), lives)
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
	for name, tt := range map[string]struct {
		change func(tc *cache.TiersConfig)
		cfg    thingConfig
		warns  bool
	}{
		"remote alone": {warns: true},
		"LocalTTL":     {cfg: thingConfig{Policy: patch{LocalTTL: new(time.Second)}}},
		"LocalTTL, overrides": {change: func(tc *cache.TiersConfig) {
			tc.Policies = policy.Table{{Patch: patch{LocalTTL: new(time.Second)}}}
		}},
		"LocalOnly":      {cfg: thingConfig{LocalOnly: true}},
		"off":            {cfg: thingConfig{Policy: patch{Off: new(true)}}},
		"a log":          {change: func(tc *cache.TiersConfig) { tc.Log = logtest.NewMemory(logtest.MemoryConfig{Bound: time.Second}) }},
		"no remote tier": {change: func(tc *cache.TiersConfig) { tc.Remote = nil }},
	} {
		bubble(t, name, func(t *testing.T) {
			var said strings.Builder
			tc := cache.TiersConfig{Remote: tiertest.NewMemory(), Logger: slog.New(slog.NewTextHandler(&said, nil))}
			if tt.change != nil {
				tt.change(&tc)
			}
			tiers := open(t, tc)
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
	})
}
