package invalidate_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

func register(t testing.TB, r *invalidate.Registry, k string, entities ...string) invalidate.Token {
	t.Helper()
	token, err := r.Register(k, entities...)
	if err != nil || token == 0 {
		t.Fatalf("Register(%q, %q) = %d, %v", k, entities, token, err)
	}
	return token
}

func wantKeys(t *testing.T, r *invalidate.Registry, entity string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.Keys(entity)); diff != "" {
		t.Errorf("Keys(%q) (-want +got):\n%s", entity, diff)
	}
	if got := r.Count(entity); got != len(want) {
		t.Errorf("Count(%q) = %d, want %d", entity, got, len(want))
	}
}

func wantLen(t *testing.T, r *invalidate.Registry, keys, entities, pairs int) {
	t.Helper()
	k, e, p := r.Len()
	if got, want := [3]int{k, e, p}, [3]int{keys, entities, pairs}; got != want {
		t.Errorf("Len() = %v, want %v", got, want)
	}
}

func TestRegistryBothWays(t *testing.T) {
	r := invalidate.NewRegistry(invalidate.RegistryConfig{})
	home := register(t, r, "a:page:/", "post:8", "post:7", "nav", "post:7")
	register(t, r, "a:page:/7", "post:7", "nav")
	wantKeys(t, r, "post:7", "a:page:/", "a:page:/7")
	wantKeys(t, r, "post:8", "a:page:/")
	wantKeys(t, r, "post:9")
	wantLen(t, r, 2, 3, 5)
	if diff := cmp.Diff([]string{"nav", "post:7", "post:8"}, r.Entities("a:page:/")); diff != "" {
		t.Errorf("Entities (-want +got):\n%s", diff)
	}
	r.Keys("post:7")[0] = "changed" // a copy
	if !r.Unregister("a:page:/", home) || r.Unregister("a:page:/", home) {
		t.Error("Unregister does not report its first call, or its second")
	}
	wantKeys(t, r, "post:7", "a:page:/7")
	wantKeys(t, r, "post:8")
	wantLen(t, r, 1, 2, 2)
	if got := r.Entities("a:page:/"); got != nil {
		t.Errorf("Entities of a key that is gone = %q", got)
	}
}

func TestRegistryReplaces(t *testing.T) {
	r := invalidate.NewRegistry(invalidate.RegistryConfig{})
	register(t, r, "other", "b", "c")
	for _, entities := range [][]string{{"a", "b", "c"}, {"b", "d"}, {"a", "e"}, {}, {"z"}, {"a", "z"}} {
		register(t, r, "k", entities...)
		for _, e := range []string{"a", "b", "c", "d", "e", "z"} {
			if got, want := slices.Contains(r.Keys(e), "k"), slices.Contains(entities, e); got != want {
				t.Errorf("with %q: %q has k = %t", entities, e, got)
			}
		}
	}
	wantLen(t, r, 2, 4, 4)
}

// The notice that an entry is gone may come after its successor was registered,
// and after that one's own.
func TestRegistryLateUnregister(t *testing.T) {
	r := invalidate.NewRegistry(invalidate.RegistryConfig{})
	first := register(t, r, "k", "a", "b")
	second := register(t, r, "k", "b", "c")
	if r.Unregister("k", first) {
		t.Error("the older token ended the newer registration")
	}
	wantKeys(t, r, "b", "k")
	wantKeys(t, r, "c", "k")
	if r.Unregister("k", 0) || r.Unregister("other", second) {
		t.Error("a foreign token ended a registration")
	}
	if !r.Unregister("k", second) || r.Unregister("k", first) {
		t.Error("the newer token did not end its registration, or the older one did again")
	}
	wantLen(t, r, 0, 0, 0)
	if third := register(t, r, "k", "a"); third == first || third == second {
		t.Error("a token was used twice")
	}
}

func TestRegistryIsBounded(t *testing.T) {
	r := invalidate.NewRegistry(invalidate.RegistryConfig{MaxKeys: 2, MaxPairs: 3})
	one := register(t, r, "1", "a", "b")
	register(t, r, "2", "a")
	refused := func(k string, entities ...string) {
		t.Helper()
		if token, err := r.Register(k, entities...); !errors.Is(err, invalidate.ErrRegistryFull) || token != 0 {
			t.Errorf("Register(%q, %q) = %d, %v, want ErrRegistryFull", k, entities, token, err)
		}
		wantLen(t, r, 2, 2, 3)
	}
	refused("3")
	refused("2", "a", "b") // one pair more
	wantKeys(t, r, "a", "1", "2")
	register(t, r, "2", "b") // one in place of one
	wantKeys(t, r, "b", "1", "2")
	r.Unregister("1", one)
	register(t, r, "3", "a", "c")
	wantLen(t, r, 2, 3, 3)
}

func TestRegistryRefuses(t *testing.T) {
	r := invalidate.NewRegistry(invalidate.RegistryConfig{MaxKeys: -1, MaxPairs: -1})
	for _, tt := range []struct{ k, entity string }{
		{"", "a"}, {strings.Repeat("k", key.MaxLen+1), "a"}, {"k", ""}, {"k", strings.Repeat("e", invalidate.MaxEntityLen+1)},
	} {
		if _, err := r.Register(tt.k, "fine", tt.entity); !errors.Is(err, invalidate.ErrRegistration) {
			t.Errorf("Register of %d and %d bytes: %v, want ErrRegistration", len(tt.k), len(tt.entity), err)
		}
	}
	wantLen(t, r, 0, 0, 0)
	register(t, r, strings.Repeat("k", key.MaxLen), strings.Repeat("e", invalidate.MaxEntityLen))
}

// Whatever happens at a time, what is left at the end is what the last
// registration of each key said, and an entity that a key never loses is never
// without it.
func TestRegistryConcurrently(t *testing.T) {
	const workers, keys, rounds = 4, 8, 2000
	r := invalidate.NewRegistry(invalidate.RegistryConfig{MaxKeys: keys + 1})
	register(t, r, "pinned", "always")
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				k := fmt.Sprint("k", (i*7+w)%keys)
				token, err := r.Register(k, "all", fmt.Sprint("e", i%5), fmt.Sprint("w", w))
				if err != nil {
					t.Errorf("Register: %v", err)
				}
				_, _ = r.Register("pinned", "always", fmt.Sprint("e", i%3))
				if i%2 == 0 {
					r.Unregister(k, token)
				}
				if got := r.Keys("always"); len(got) != 1 || r.Count("always") != 1 {
					t.Errorf("Keys(always) = %q", got)
				}
				r.Entities(k)
			}
		})
	}
	wg.Wait()
	pairs := 0
	for i := range keys {
		k := fmt.Sprint("k", i)
		entities := r.Entities(k)
		pairs += len(entities)
		for _, e := range entities {
			if !slices.Contains(r.Keys(e), k) {
				t.Errorf("%q has %q, which does not know it", k, e)
			}
		}
		token := register(t, r, k)
		r.Unregister(k, token)
	}
	if _, _, got := r.Len(); got != len(r.Entities("pinned")) {
		t.Errorf("%d pairs are left, of %d that the keys had", got, pairs)
	}
}

// heap returns the bytes that are reachable.
func heap() int64 {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A cache that is full, before a million of addresses that somebody makes up:
// each is stored once and pushes out another.
func TestRegistryDoesNotLeak(t *testing.T) {
	const live, total = 1000, 1_000_000
	r := invalidate.NewRegistry(invalidate.RegistryConfig{MaxKeys: live + 1})
	tokens := make([]invalidate.Token, live)
	name := func(i int) (string, string) { return fmt.Sprint("a:page:/?q=", i), fmt.Sprint("query:", i) }
	turn := func(i int) {
		k, e := name(i)
		token, err := r.Register(k, e, "posts", fmt.Sprint("month:", i%12))
		if err != nil {
			t.Fatal(err)
		}
		if i >= live {
			old, _ := name(i - live)
			r.Unregister(old, tokens[i%live])
		}
		tokens[i%live] = token
	}
	for i := range 2 * live {
		turn(i)
	}
	before := heap()
	k0, e0, p0 := r.Len()
	for i := 2 * live; i < total; i++ {
		turn(i)
	}
	wantLen(t, r, k0, e0, p0)
	after := heap()
	t.Logf("%d keys: %d KiB; after %d keys more: %d KiB", live, before>>10, total-2*live, after>>10)
	if after > before+before/4+64<<10 {
		t.Errorf("heap grew from %d to %d bytes", before, after)
	}
	runtime.KeepAlive(r)
}

// After a peak the memory comes back, though Go's maps keep theirs.
func TestRegistryShrinks(t *testing.T) {
	const peak = 100_000
	r := invalidate.NewRegistry(invalidate.RegistryConfig{})
	register(t, r, "stays", "posts")
	before := heap()
	tokens := make([]invalidate.Token, peak)
	for i := range tokens {
		tokens[i] = register(t, r, fmt.Sprint("k", i), "posts", fmt.Sprint("post:", i))
	}
	top := heap()
	for i, token := range tokens {
		r.Unregister(fmt.Sprint("k", i), token)
	}
	tokens = nil
	wantLen(t, r, 1, 1, 1)
	after := heap()
	t.Logf("empty %d KiB, with %d keys %d KiB (%d bytes for a key of two entities), empty again %d KiB",
		before>>10, peak, top>>10, (top-before)/peak, after>>10)
	if after > before+(top-before)/20 {
		t.Errorf("heap was %d bytes, then %d, and is %d", before, top, after)
	}
	runtime.KeepAlive(r)
	runtime.KeepAlive(tokens)
}
