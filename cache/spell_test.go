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

// An entry does not keep its full key. The key is encoded again when a prefix is fenced, and
// when a hook reports the entry. It must be the same as before.
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
	must(t, err)
	c = c.Tenant("acme")
	set := func() {
		t.Helper()
		must(t, c.Set(t.Context(), k, 1))
		if _, ok := c.Peek(t.Context(), k); !ok {
			t.Fatal("Peek does not find the value of Set")
		}
	}
	set()
	set() // replaces the first
	if len(left) != 1 {
		t.Fatalf("OnRemoved was called for %q, want one key", left)
	}
	full := left[0]
	id, err := key.Of(k)
	must(t, err)
	if want := "acme:spelled:v1:" + id; full != want {
		t.Fatalf("the key is %q, want %q", full, want)
	}
	for _, prefix := range []string{full + "x", full[:len(full)-1] + "\x00"} {
		must(t, tiers.Invalidate(t.Context(), prefixOf(prefix)))
		if _, ok := c.Peek(t.Context(), k); !ok {
			t.Errorf("the key was invalidated by the prefix %q of other keys", prefix)
		}
	}
	must(t, tiers.Invalidate(t.Context(), prefixOf(full)))
	if _, ok := c.Peek(t.Context(), k); ok {
		t.Errorf("the key was not invalidated by the prefix %q, which is the key itself", full)
	}
}
