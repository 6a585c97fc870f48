package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
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
	if err != nil {
		t.Fatal(err)
	}
	check(
		cache.SpacePolicy{"others", "", of(time.Minute)}, cache.SpacePolicy{"others", "off", of(time.Second)},
		cache.SpacePolicy{"things", "", of(2 * time.Hour)}, cache.SpacePolicy{"things", "acme", of(3 * time.Hour)},
		cache.SpacePolicy{"things", "off", of(time.Second)},
	)
}

// An Entry reports its age, and whether it is fresh.
func TestEntryAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stored cache.Entry
		src := &source{}
		tiers := open(t, cache.TiersConfig{OnStored: func(e cache.Entry) { stored = e }})
		things := with(t, tiers, thingConfig{Load: src.load, Policy: patch{TTL: new(time.Minute), Jitter: new(0.0), Stale: new(time.Minute)}})
		get(t, things, 1)
		for _, step := range []struct {
			wait         time.Duration
			age          time.Duration
			stale, alive bool
		}{
			{0, 0, false, true},
			{59 * time.Second, 59 * time.Second, false, true},
			{time.Second, time.Minute, true, true},
			{time.Minute, 2 * time.Minute, true, false},
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
