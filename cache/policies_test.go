package cache_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// Policies returns the policies in force. The table overrides Config.Policy. A tenant is listed
// only where its policy differs.
func TestPolicies(t *testing.T) {
	tiers := open(t, cache.TiersConfig{})
	with(t, tiers, thingConfig{Namespace: "things", Policy: patch{TTL: new(time.Hour)}})
	with(t, tiers, thingConfig{Namespace: "others"})
	check := func(want ...cache.SpacePolicy) {
		t.Helper()
		if diff := cmp.Diff(want, tiers.Policies()); diff != "" {
			t.Errorf("Policies (-want +got):\n%s", diff)
		}
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
		if diff := cmp.Diff(want, tiers.UnusedPolicies()); diff != "" {
			t.Errorf("UnusedPolicies (-want +got):\n%s", diff)
		}
		if n := strings.Count(said.String(), "a policy does nothing"); n != lines {
			t.Errorf("%d warnings, want %d:\n%s", n, lines, said.String())
		}
	}
	if diff := cmp.Diff([]string{"other"}, tiers.UnusedPolicies()); diff != "" {
		t.Errorf("UnusedPolicies of Open's table (-want +got):\n%s", diff)
	}
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
