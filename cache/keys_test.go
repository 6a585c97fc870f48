package cache_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
)

type point struct{ X, Y float64 }

// degrees has a text for every value, including NaN.
type degrees float64

func (d degrees) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%g", float64(d)), nil }

// spot has a text that lacks the field that makes it unequal to itself.
type spot struct {
	name string
	at   float64
}

func (s spot) MarshalText() ([]byte, error) { return []byte(s.name), nil }

// A key that is not equal to itself can never be found again. It would never hit or share a
// load, and would stay in the map of flights for ever. It is refused before anything is done, by
// an error that names the cause and the remedy.
func TestNaNKey(t *testing.T) {
	nan := math.NaN()
	t.Run("float64", func(t *testing.T) { nanKey(t, nan, 1.5) })
	t.Run("float32", func(t *testing.T) { nanKey(t, float32(nan), 1.5) })
	t.Run("struct", func(t *testing.T) { nanKey(t, point{1, nan}, point{1, 2}) })
	t.Run("array", func(t *testing.T) { nanKey(t, [2]float64{nan, 1}, [2]float64{2, 1}) })
	t.Run("float with a text", func(t *testing.T) { nanKey(t, degrees(nan), degrees(math.Inf(1))) })
	t.Run("struct with a text", func(t *testing.T) { nanKey(t, spot{"b", nan}, spot{"a", 1}) })
}

func nanKey[K comparable](t *testing.T, bad, good K) {
	synctest.Test(t, func(t *testing.T) {
		var loads atomic.Int64
		remote := faulty()
		tiers := open(t, cache.TiersConfig{Remote: remote, MaxFlights: 2})
		c := with(t, tiers, cache.Config[K, string]{Load: func(context.Context, K) (string, error) {
			loads.Add(1)
			return "v", nil
		}})
		ctx := t.Context()
		for name, op := range map[string]func() error{
			"Get":     func() error { _, err := c.Get(ctx, bad); return err },
			"Fetch":   func() error { _, err := c.Fetch(ctx, bad, nil); return err },
			"Set":     func() error { return c.Set(ctx, bad, "v") },
			"Delete":  func() error { return c.Delete(ctx, bad) },
			"Expire":  func() error { return c.Expire(ctx, bad) },
			"Refresh": func() error { return c.Refresh(ctx, bad) },
			"GetMany": func() error { _, err := c.GetMany(ctx, []K{bad, bad}); return err },
		} {
			for range 3 {
				wantNaNError(t, name, op())
			}
		}
		if _, ok := c.Peek(ctx, bad); ok {
			t.Error("Peek finds a value")
		}
		if n, calls, entries := loads.Load(), remote.Calls(), tiers.Stats().Local.Entries; n != 0 || calls != 0 || entries != 0 {
			t.Errorf("%d loads, %d calls to the remote tier and %d local entries, want none", n, calls, entries)
		}
		m, err := c.GetMany(ctx, []K{good, bad})
		if got := slices.Collect(maps.Values(m)); len(got) != 1 || m[good] != "v" {
			t.Errorf("GetMany with a valid key = %v, %v", m, err)
		}
		wantNaNError(t, "GetMany with a valid key", err)
		if v := get(t, c, good); v != "v" || loads.Load() != 1 {
			t.Errorf("Get(%v) = %q after %d loads, want v after 1", good, v, loads.Load())
		}
	})
}

// wantNaNError checks that a key was refused because it is not equal to itself.
func wantNaNError(t *testing.T, op string, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("%s accepts a NaN key", op)
		return
	}
	if !strings.Contains(err.Error(), "NaN") {
		t.Errorf("%s: %q, want an error that names NaN", op, err)
	}
}

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
