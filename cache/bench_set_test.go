package cache_test

import (
	"context"
	"testing"
)

// BenchmarkSet replaces resident values by int64 keys.
func BenchmarkSet(b *testing.B) {
	keys := zipfKeys(1 << 16)
	b.Run("twofold", func(b *testing.B) {
		c, ctx := warm(b, func(i int64) int64 { return i }), context.Background()
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			k := keys[i&(len(keys)-1)]
			i++
			if err := c.Set(ctx, k, profileOf(k)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("floor", func(b *testing.B) {
		r := rawRistretto(b, func(i int64) int64 { return i })
		i := 0
		b.ReportAllocs()
		for b.Loop() {
			k := keys[i&(len(keys)-1)]
			i++
			p := profileOf(k)
			r.Set(k, &p, 1)
		}
	})
}
