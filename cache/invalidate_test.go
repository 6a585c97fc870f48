package cache_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// scopes returns the scopes that cover key 1 of namespace things, which carries the tag t.
func scopes(t *testing.T) map[string]invalidate.Scope {
	t.Helper()
	k, err := key.Parse("default:things:1")
	if err != nil {
		t.Fatal(err)
	}
	return map[string]invalidate.Scope{
		"key":          invalidate.Key(k),
		"prefix":       invalidate.Prefix("default", "things:"),
		"wider prefix": invalidate.Tenant("default"),
		"tag":          invalidate.Tag("default", "t"),
		"everything":   invalidate.All(),
	}
}

func tagT(int, string) []string { return []string{"t"} }

func TestInvalidate(t *testing.T) {
	for name, scope := range scopes(t) {
		for _, remote := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, remote=%v", name, remote), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					src := &source{}
					var tc cache.TiersConfig
					if remote {
						tc.Remote = tiertest.NewMemory()
					}
					tiers := open(t, tc)
					c := with(t, tiers, thingConfig{Load: src.load, Tags: tagT})
					other := with(t, tiers, thingConfig{Namespace: "others", Load: src.load})
					get(t, c, 1)
					get(t, other, 99)
					if err := tiers.Invalidate(t.Context(), scope); err != nil {
						t.Fatal(err)
					}
					if v, ok := c.Peek(t.Context(), 1); ok {
						t.Errorf("Peek = %q after the invalidation", v)
					}
					wantFetch(t, c, 1, fetched{"1.2", cache.Load, false, nil})
					wantFetch(t, c, 1, fetched{"1.2", cache.Local, false, nil})
					wide := name == "everything" || name == "wider prefix"
					if got := get(t, other, 99); (got == "99.1") == wide {
						t.Errorf("the other namespace's value is %q", got)
					}
				})
			})
		}
	}
}

func TestInvalidateRefusesBadScopes(t *testing.T) {
	src := &source{}
	remote := faulty()
	tiers := open(t, cache.TiersConfig{Remote: remote})
	c := with(t, tiers, thingConfig{Load: src.load, Tags: tagT})
	get(t, c, 1)
	for name, bad := range map[string]invalidate.Scope{
		"zero scope":            {},
		"zero key":              invalidate.Key(key.Key{}),
		"prefix without tenant": invalidate.Prefix("", "things:"),
		"tag without tenant":    invalidate.Tag("", "t"),
		"tenant with a colon":   invalidate.Tag("a:b", "t"),
		"empty tag":             invalidate.Tag("default", ""),
	} {
		t.Run(name, func(t *testing.T) {
			remote.ResetCalls()
			err := tiers.Invalidate(t.Context(), invalidate.Tag("default", "t"), bad)
			if ce, ok := errors.AsType[*cache.Error](err); !ok || ce.Op != "invalidate" || !errors.Is(err, invalidate.ErrScope) {
				t.Errorf("Invalidate = %v, want an *Error with ErrScope", err)
			}
			if n := remote.Calls(); n != 0 {
				t.Errorf("%d remote calls for a refused scope", n)
			}
			wantFetch(t, c, 1, fetched{"1.1", cache.Local, false, nil}) // the good scope had no effect either
		})
	}
}

// When the remote tier is unreachable, Invalidate returns an error, but applies in this process.
func TestInvalidateWithRemoteDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src, remote := &source{}, faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote})
		c := with(t, tiers, thingConfig{Load: src.load})
		get(t, c, 1)
		get(t, c, 2)
		down := errors.New("connection refused")
		remote.Fail(down)
		wantError(t, c.Delete(t.Context(), 1), "delete", "default:things:1", down)
		wantError(t, c.Set(t.Context(), 2, "set"), "set", "default:things:2", down)
		remote.Heal()
		// The cells still exist, and are refused as older than the fence.
		wantFetch(t, c, 1, fetched{"1.2", cache.Load, false, nil})
		if v := get(t, c, 2); v == "2.1" {
			t.Errorf("Get(2) = %q, the value from before Set", v)
		}
	})
}

// An invalidation of one tenant's tag or prefix has no effect on another tenant.
func TestTenantsAreApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := &source{}
		tiers := open(t, cache.TiersConfig{Remote: tiertest.NewMemory()})
		c := with(t, tiers, thingConfig{Load: src.load, Tags: tagT})
		acme, bolt := c.Tenant("acme"), c.Tenant("bolt")
		get(t, acme, 1)
		get(t, bolt, 1)
		if err := tiers.Invalidate(t.Context(), invalidate.Tag("acme", "t"), invalidate.Tenant("acme")); err != nil {
			t.Error(err)
		}
		wantFetch(t, bolt, 1, fetched{"1.2", cache.Local, false, nil})
		wantFetch(t, acme, 1, fetched{"1.3", cache.Load, false, nil})
		if err := bolt.DeleteAll(t.Context()); err != nil {
			t.Error(err)
		}
		wantFetch(t, acme, 1, fetched{"1.3", cache.Local, false, nil})
		wantFetch(t, bolt, 1, fetched{"1.4", cache.Load, false, nil})
	})
}
