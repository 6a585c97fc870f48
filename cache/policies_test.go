package cache_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/policy"
)

// Policies says what is in force: the table counts, and a tenant is named where it differs.
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
	of := func(ttl time.Duration) policy.Policy { // of tiers that with makes a cache on
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

// An entry tells how old it is and whether it is fresh.
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
			t.Errorf("after Expire (%v): stale %t, alive %t; want both", err, stored.Stale(), stored.Alive())
		}
		if err := things.Delete(t.Context(), 1); err != nil || !stored.Stale() || stored.Alive() {
			t.Errorf("after Delete (%v): stale %t, alive %t; want stale alone", err, stored.Stale(), stored.Alive())
		}
		others := with(t, tiers, thingConfig{Namespace: "others", Load: src.load})
		get(t, others, 1)
		if err := others.Expire(t.Context(), 1); err != nil || stored.Alive() {
			t.Errorf("after Expire without a time to be stale (%v): alive", err)
		}
	})
}
