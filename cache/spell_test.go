package cache_test

import (
	"testing"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
)

type pair struct {
	Org  string
	User int
}

// An entry does not keep its full key: it is spelled again when a prefix is fenced, or
// when somebody wants to know what left. It must be what it was.
func TestKeysAreSpelledAgain(t *testing.T) {
	t.Run("string", func(t *testing.T) { spelledAgain(t, "a b/ü:1") })
	t.Run("int", func(t *testing.T) { spelledAgain(t, -42) })
	t.Run("uint64", func(t *testing.T) { spelledAgain(t, uint64(1<<63)) })
	t.Run("bool", func(t *testing.T) { spelledAgain(t, true) })
	t.Run("array", func(t *testing.T) { spelledAgain(t, [2]string{"a", "b"}) })
	t.Run("struct", func(t *testing.T) { spelledAgain(t, pair{"acme", 7}) })
}

func spelledAgain[K comparable](t *testing.T, k K) {
	t.Helper()
	var left []string
	tiers := open(t, cache.TiersConfig{OnRemoved: func(e cache.Entry, _ tier.EvictReason) { left = append(left, e.Key()) }})
	c, err := cache.New(tiers, cache.Config[K, int]{Namespace: "spelled:v1"})
	if err != nil {
		t.Fatal(err)
	}
	c = c.Tenant("acme")
	set := func() {
		t.Helper()
		if err := c.Set(t.Context(), k, 1); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Peek(t.Context(), k); !ok {
			t.Fatal("what was Set is not there")
		}
	}
	set()
	set() // replaces the first
	if len(left) != 1 {
		t.Fatalf("OnRemoved heard of %q, want one key", left)
	}
	full := left[0]
	id, err := key.Of(k)
	if err != nil {
		t.Fatal(err)
	}
	if want := "acme:spelled:v1:" + id; full != want {
		t.Fatalf("the key is %q, want %q", full, want)
	}
	for _, prefix := range []string{full + "x", full[:len(full)-1] + "\x00"} {
		if err := tiers.Invalidate(t.Context(), prefixOf(prefix)); err != nil {
			t.Fatal(err)
		}
		if _, ok := c.Peek(t.Context(), k); !ok {
			t.Errorf("gone with the prefix %q of others", prefix)
		}
	}
	if err := tiers.Invalidate(t.Context(), prefixOf(full)); err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Peek(t.Context(), k); ok {
		t.Errorf("still there after its own key %q was invalidated as a prefix", full)
	}
}
