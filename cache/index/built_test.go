package index_test

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
)

// An invalidation of a key or a prefix covers what was built from the values that it names.
func TestBuiltValues(t *testing.T) {
	x := index.New(index.Config{})
	tiers, err := cache.Open(cache.TiersConfig{OnStored: x.Stored, OnRemoved: x.Removed})
	if err != nil {
		t.Fatal(err)
	}
	defer tiers.Close(t.Context())
	users, err := cache.New(tiers, cache.For("users:v1", func(_ context.Context, id string) (string, error) { return id, nil }))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := cache.New(tiers, cache.For("pages", users.Get))
	if err != nil {
		t.Fatal(err)
	}
	sites, err := cache.New(tiers, cache.For("sites", pages.Get))
	if err != nil {
		t.Fatal(err)
	}
	ada, bob := []string{"default:pages:ada", "default:sites:ada", "default:users:v1:ada"}, []string{"default:pages:bob", "default:users:v1:bob"}
	both := []string{ada[0], bob[0], ada[1], ada[2], bob[1]}
	if _, err := sites.Get(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	if _, err := pages.Get(t.Context(), "bob"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		scope invalidate.Scope
		want  []string
	}{
		{users.Key("ada"), ada},
		{users.Key("bob"), bob},
		{pages.Key("ada"), ada[:2]},
		{users.Prefix("a"), []string{ada[0], bob[0], ada[1], ada[2]}}, // a built value names no ids
		{users.All(), both},
		{pages.All(), []string{ada[0], bob[0], ada[1]}},
		{invalidate.Tenant("default"), both},
		{invalidate.Tenant("acme"), nil},
	} {
		if diff := cmp.Diff(tt.want, x.KeysOf(tt.scope)); diff != "" {
			t.Errorf("KeysOf(%v) (-want +got):\n%s", tt.scope, diff)
		}
	}
	listed := x.KeysOf(users.Key("ada"))
	if err := users.Delete(t.Context(), "ada"); err != nil {
		t.Fatal(err)
	}
	for _, k := range both {
		_, alive := x.EntryOf(k)
		if slices.Contains(listed, k) == alive {
			t.Errorf("%s is alive: %v", k, alive)
		}
	}
}
