package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/local"
)

// BenchmarkHitBesideInvalidations reads resident keys of a namespace while another goroutine makes 10,000
// invalidations a second there that cover none of them. The names say of what; "cuts" are prefixes that end inside
// an id. Compare with "alone": the work of the other goroutine is not the hit's, but takes a share of a busy machine.
func BenchmarkHitBesideInvalidations(b *testing.B) {
	for _, tt := range []struct {
		name  string
		scope func(users cache.Cache[int64, profile], i int64) invalidate.Scope
	}{
		{"alone", nil},
		{"keys", func(c cache.Cache[int64, profile], i int64) invalidate.Scope { return c.Key(1_000_000 + i) }},
		{"tags", func(c cache.Cache[int64, profile], i int64) invalidate.Scope { return c.Tag(fmt.Sprint("x", i)) }},
		{"prefixes", func(c cache.Cache[int64, profile], i int64) invalidate.Scope {
			return invalidate.Prefix(cache.DefaultTenant, fmt.Sprintf("other%d:", i))
		}},
		{"cuts", func(c cache.Cache[int64, profile], i int64) invalidate.Scope {
			return c.Prefix(fmt.Sprint(7_000_000 + i))
		}},
	} {
		b.Run(tt.name, func(b *testing.B) {
			tiers, err := cache.Open(cache.TiersConfig{})
			must(b, err)
			c, err := cache.New(tiers, cache.Config[int64, profile]{
				Namespace: "bench:v1", Load: func(_ context.Context, id int64) (profile, error) { return profileOf(id), nil },
				Tags:   func(id int64, _ profile) []string { return []string{fmt.Sprint("t", id)} },
				Policy: policy.Patch{TTL: new(time.Hour)},
			})
			must(b, err)
			const n = 1024
			for id := range int64(n) {
				_, _ = c.Get(b.Context(), id)
			}
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if tt.scope == nil {
					return
				}
				tick := time.NewTicker(time.Millisecond)
				defer tick.Stop()
				for i := int64(0); ctx.Err() == nil; {
					for range 10 {
						if err := tiers.Invalidate(context.WithoutCancel(ctx), tt.scope(c, i)); err != nil {
							b.Error(err)
						}
						i++
					}
					<-tick.C
				}
			}()
			loads := total(tiers).Loads.Calls
			sum := int64(0)
			for i := int64(0); b.Loop(); i++ {
				v, _ := c.Get(ctx, i%n)
				sum += v.ID
			}
			stop()
			<-ended
			sink.Store(sum)
			if more := total(tiers).Loads.Calls - loads; more > 0 {
				b.Errorf("%d loads of keys that nothing covers", more)
			}
			must(b, tiers.Close(context.Background()))
		})
	}
}

// BenchmarkResidentMemory measures what an entry takes above its key and value, both ints, and what a tag of its own
// adds.
func BenchmarkResidentMemory(b *testing.B) {
	for _, tagged := range []bool{false, true} {
		b.Run(fmt.Sprintf("tagged=%t", tagged), func(b *testing.B) {
			const n = 1_000_000
			for b.Loop() {
				heap := liveHeap()
				tiers, err := cache.Open(cache.TiersConfig{Local: local.New(local.Config{MaxBytes: 1 << 30})})
				must(b, err)
				cfg := cache.Config[int, int]{Namespace: "ints:v1", Load: func(_ context.Context, id int) (int, error) { return id, nil }}
				if tagged {
					cfg.Tags = func(id, _ int) []string { return []string{fmt.Sprint("tag:", id)} }
				}
				c, err := cache.New(tiers, cfg)
				must(b, err)
				for id := range n {
					_, _ = c.Get(b.Context(), id)
				}
				b.ReportMetric(float64(liveHeap()-heap)/n-16, "B/entry")
				if held := tiers.Stats().Local.Entries; held != n {
					b.Errorf("%d entries are held, want %d", held, n)
				}
				must(b, tiers.Close(context.Background()))
			}
		})
	}
}

// BenchmarkEmptyTiers measures the memory of Tiers that hold nothing.
func BenchmarkEmptyTiers(b *testing.B) {
	heap, open := liveHeap(), []*cache.Tiers(nil)
	for b.Loop() {
		tiers, err := cache.Open(cache.TiersConfig{})
		must(b, err)
		open = append(open, tiers)
	}
	b.ReportMetric(float64(liveHeap()-heap)/float64(len(open)), "B/tiers")
	for _, tiers := range open {
		must(b, tiers.Close(context.Background()))
	}
}

func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
