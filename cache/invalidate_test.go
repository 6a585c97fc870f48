package cache_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// scopes returns the scopes that cover key 1 of namespace things, which carries the tag t.
func scopes(t *testing.T) map[string]invalidate.Scope {
	t.Helper()
	k, err := key.Parse(cell1)
	must(t, err)
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
			bubble(t, fmt.Sprintf("%s, remote=%v", name, remote), func(t *testing.T) {
				src := &source{}
				tc := tiersOf(remote)
				tiers := open(t, tc)
				c := with(t, tiers, thingConfig{Load: src.load, Tags: tagT})
				other := with(t, tiers, thingConfig{Namespace: "others", Load: src.load})
				get(t, c, 1)
				get(t, other, 99)
				must(t, tiers.Invalidate(t.Context(), scope))
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
		}
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
		wantError(t, c.Delete(t.Context(), 1), "delete", cell1, down)
		wantError(t, c.Set(t.Context(), 2, "set"), "set", "default:things:2", down)
		remote.Heal()
		// The cells still exist, and are refused as older than the fence.
		wantFetch(t, c, 1, fetched{"1.2", cache.Load, false, nil})
		if v := get(t, c, 2); v == "2.1" {
			t.Errorf("Get(2) = %q, the value from before Set", v)
		}
	})
}
