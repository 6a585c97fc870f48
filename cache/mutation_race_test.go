//go:build race

package cache_test

import (
	"context"
	"strings"
	"testing"

	"github.com/twofold-go/twofold/cache"
)

// A value that was changed after it was cached is found out under -race.
func TestMutationIsDetected(t *testing.T) {
	c := with(t, open(t, cache.TiersConfig{}), cache.Config[int, []int]{
		Load: func(context.Context, int) ([]int, error) { return []int{1, 2, 3}, nil },
	})
	get(t, c, 1)
	v := get(t, c, 1)
	v[0] = 99
	for name, read := range map[string]func(){
		"Get":   func() { _, _ = c.Get(t.Context(), 1) },
		"Fetch": func() { _, _ = c.Fetch(t.Context(), 1, nil) },
	} {
		if s, ok := panicOf(read).(string); !ok || !strings.Contains(s, "things") || !strings.Contains(s, "Clone") {
			t.Errorf("%s of a changed value panics with %q, want the namespace and the way out", name, s)
		}
	}
	v[0] = 1
	get(t, c, 1)
}
