package invalidate_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/twofold-go/twofold/invalidate"
)

// naive is a registry without an index: a list that is searched.
type naive struct {
	made   map[string][]string
	tokens map[string]invalidate.Token
}

func (n naive) keys(entity string) []string {
	var keys []string
	for k, entities := range n.made {
		if slices.Contains(entities, entity) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

func (n naive) len() [3]int {
	entities, pairs := map[string]bool{}, 0
	for _, es := range n.made {
		pairs += len(es)
		for _, e := range es {
			entities[e] = true
		}
	}
	return [3]int{len(n.made), len(entities), pairs}
}

const naiveKeys, naivePairs = 5, 12

func (n naive) fits(k string, entities []string) bool {
	next := naive{made: maps.Clone(n.made)}
	next.made[k] = entities
	size, before := next.len(), n.len()
	return (size[0] <= naiveKeys || size[0] <= before[0]) && (size[2] <= naivePairs || size[2] <= before[2])
}

func TestRegistryModel(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f", "g"}
	rapid.Check(t, func(t *rapid.T) {
		r := invalidate.NewRegistry(invalidate.RegistryConfig{MaxKeys: naiveKeys, MaxPairs: naivePairs})
		n := naive{made: map[string][]string{}, tokens: map[string]invalidate.Token{}}
		var past []invalidate.Token
		anyKey, anyEntity := rapid.SampledFrom(names), rapid.SampledFrom(names)
		t.Repeat(map[string]func(*rapid.T){
			"register": func(t *rapid.T) {
				k := anyKey.Draw(t, "key")
				entities := rapid.SliceOfN(anyEntity, 0, 6).Draw(t, "entities")
				want := slices.Compact(slices.Sorted(slices.Values(entities)))
				token, err := r.Register(k, entities...)
				if fits := n.fits(k, want); fits != (err == nil) || (err != nil && !errors.Is(err, invalidate.ErrRegistryFull)) {
					t.Fatalf("Register = %v, but fits is %t", err, fits)
				}
				if err == nil {
					n.made[k], n.tokens[k] = want, token
					past = append(past, token)
				}
			},
			"unregister": func(t *rapid.T) {
				k := anyKey.Draw(t, "key")
				token := n.tokens[k]
				if rapid.Bool().Draw(t, "some token") && len(past) > 0 {
					token = rapid.SampledFrom(past).Draw(t, "token")
				}
				want := token != 0 && token == n.tokens[k]
				if got := r.Unregister(k, token); got != want {
					t.Fatalf("Unregister(%q, %d) = %t, want %t", k, token, got, want)
				}
				if want {
					delete(n.made, k)
					delete(n.tokens, k)
				}
			},
			"": func(t *rapid.T) { compareRegistry(t, r, n, names) },
		})
	})
}

func compareRegistry(t *rapid.T, r *invalidate.Registry, n naive, names []string) {
	for _, name := range names {
		if got, want := r.Keys(name), n.keys(name); !slices.Equal(got, want) || r.Count(name) != len(want) {
			t.Fatalf("Keys(%q) = %q, Count %d, want %q", name, got, r.Count(name), want)
		}
		if got, want := r.Entities(name), n.made[name]; !slices.Equal(got, want) {
			t.Fatalf("Entities(%q) = %q, want %q", name, got, want)
		}
	}
	k, e, p := r.Len()
	if got, want := [3]int{k, e, p}, n.len(); got != want {
		t.Fatalf("Len() = %v, want %v", got, want)
	}
}
