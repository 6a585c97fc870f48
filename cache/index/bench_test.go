package index_test

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/twofold-go/twofold/cache/index"
)

// Each store has three tags, one of them shared by all. The cache is full. The cases are one
// goroutine, all cores, and a concurrent lookup of the shared tag.
func BenchmarkIndex(b *testing.B) {
	const live = 10_000 // entries
	x := index.New(index.Config{})
	entries := make([]atomic.Pointer[entry], live)
	page := func(i int) string { return fmt.Sprint("a:page:/post/", i%live) }
	for i := range entries {
		entries[i].Store(store(x, page(i), "posts", page(i), page(i+1)))
	}
	turn := func(i int) {
		at := &entries[i%live]
		was := at.Load()
		e := &entry{key: was.key, spelled: was.spelled}
		x.Stored(e)
		remove(x, at.Swap(e))
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
					keysOf(x, "posts")
				}
			}
		}()
		parallel(b)
		close(stop)
		<-stopped
	})
}

func BenchmarkKeysOf(b *testing.B) {
	for _, n := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			x := index.New(index.Config{})
			for i := range n {
				store(x, fmt.Sprint("a:page:/post/", i), "posts")
			}
			b.ReportAllocs()
			for b.Loop() {
				keysOf(x, "posts")
			}
		})
	}
}

// The memory of an entry and of a pair.
func BenchmarkMemory(b *testing.B) {
	for _, tags := range []int{0, 1, 8} {
		b.Run(fmt.Sprint(tags), func(b *testing.B) {
			const n = 100_000
			names := make([]string, tags)
			for i := range names {
				names[i] = fmt.Sprint("tag:", i)
			}
			entries := make([]*entry, n)
			for i := range entries {
				entries[i] = newEntry(fmt.Sprint("a:page:/post/", i), names...)
			}
			for b.Loop() {
				before := heap()
				x := index.New(index.Config{})
				for _, e := range entries {
					x.Stored(e)
				}
				b.ReportMetric(float64(heap()-before)/n, "B/entry")
				runtime.KeepAlive(x)
			}
		})
	}
}
