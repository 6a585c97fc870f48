package sizeof_test

import (
	"testing"

	"github.com/twofold-go/twofold/internal/sizeof"
)

func BenchmarkFor(b *testing.B) {
	users := make([]*user, 100)
	for i := range users {
		users[i] = &user{Name: str(12), Email: str(24)}
	}
	grid := make([][]string, 1000)
	for i := range grid {
		grid[i] = []string{"a", "b", "c", "d"}
	}
	huge := make([][][]string, 1000)
	for i := range huge {
		huge[i] = grid
	}
	bench(b, "fixed", point{})
	bench(b, "strings", user{Name: str(12), Email: str(24)})
	bench(b, "100 pointers", users)
	bench(b, "nested slices", grid[:10])
	bench(b, "sampled", huge)
	bench(b, "map of strings", map[string]string{"a": "b", "c": "d", "e": "f"})
	bench(b, "decoded JSON", map[string]any{"a": "b", "c": []any{1.5, "d"}, "e": map[string]any{"f": nil}})
}

func bench[V any](b *testing.B, name string, v V) {
	b.Run(name, func(b *testing.B) {
		size := sizeof.For[V]()
		b.ReportAllocs()
		var sum int64
		for b.Loop() {
			sum += size(&v)
		}
		if sum < 0 {
			b.Errorf("size of %s is negative", name)
		}
	})
}
