package cache_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/logtest"
)

// Two Tiers of one process hear of a record at different times. What the one that knows
// it builds from a value of the other, which does not yet, is not kept for longer than
// that value.
func TestBuiltFromTiersBehind(t *testing.T) {
	for name, scope := range map[string]invalidate.Scope{
		"tag":    invalidate.Tag("default", "t"),
		"key":    keyScope(t, 1),
		"prefix": invalidate.Prefix("default", "things:"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := logtest.NewMemory(logtest.MemoryConfig{Bound: bound})
				link, src := logtest.NewFaulty(log), &source{}
				tags := func(int, string) []string { return []string{"t"} }
				inner := with(t, open(t, cache.TiersConfig{Log: link}), thingConfig{Load: src.load, Tags: tags})
				outer := with(t, open(t, cache.TiersConfig{Log: log}), thingConfig{
					Namespace: "built", Load: func(ctx context.Context, k int) (string, error) { return inner.Get(ctx, k) },
				})
				other := open(t, cache.TiersConfig{Log: log})
				synctest.Wait()
				if got := get(t, inner, 1); got != "1.1" {
					t.Fatalf("Get = %q, want 1.1", got)
				}
				link.Fail(errors.New("unplugged"))
				if err := other.Invalidate(t.Context(), scope); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if got := get(t, outer, 1); got != "1.1" {
					t.Fatalf("Get within the bound = %q, want what the other Tiers hold", got)
				}
				link.Heal()
				advance(bound)
				if got := get(t, outer, 1); got != "1.2" {
					t.Errorf("Get a bound after the invalidation = %q, want 1.2", got)
				}
				if got := get(t, outer, 1); got != "1.2" {
					t.Errorf("Get after that = %q, want 1.2", got)
				}
				src.wantLoads(t, 2)
			})
		})
	}
}
