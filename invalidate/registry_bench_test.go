package invalidate_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/invalidate"
)

// Stores with three entities each, one of which all of them share, over a full
// cache; alone, from all cores, and with somebody listing what shares it.
func BenchmarkRegistry(b *testing.B) {
	const live = 10_000
	r := invalidate.NewRegistry(invalidate.RegistryConfig{})
	keys := make([]string, live)
	for i := range keys {
		keys[i] = fmt.Sprint("a:page:/post/", i)
		register(b, r, keys[i], "posts", keys[i])
	}
	turn := func(i int) {
		k := keys[i%live]
		if token, err := r.Register(k, "posts", k, keys[(i+1)%live]); err == nil && i%4 == 0 {
			r.Unregister(k, token)
		}
	}
	parallel := func(b *testing.B) {
		b.Helper()
		var start atomic.Int64
		b.RunParallel(func(p *testing.PB) {
			for i := int(start.Add(1)) * live / 2; p.Next(); i++ {
				turn(i)
			}
		})
	}
	b.Run("alone", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			turn(i)
		}
	})
	b.Run("parallel", parallel)
	b.Run("listed", func(b *testing.B) {
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					r.Keys("posts")
				}
			}
		}()
		parallel(b)
		close(stop)
		<-stopped
	})
}

func BenchmarkRegistryKeys(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := invalidate.NewRegistry(invalidate.RegistryConfig{})
			for i := range n {
				register(b, r, fmt.Sprint("a:page:/post/", i), "posts")
			}
			b.ReportAllocs()
			for b.Loop() {
				r.Keys("posts")
			}
		})
	}
}
