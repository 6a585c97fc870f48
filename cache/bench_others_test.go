package cache_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// BenchmarkLocalHitBesideOthers measures what 10,000 invalidations a second of something else cost a
// hit of 10,000 keys with two tags. Compare the lines of one run with "alone".
func BenchmarkLocalHitBesideOthers(b *testing.B) {
	const keys = 10_000
	space := key.Space{Tenant: cache.DefaultTenant, Namespace: "others"}
	for _, bb := range []struct {
		name  string
		other func(i int) invalidate.Scope // nil: none
	}{
		{"alone", nil},
		{"keys", func(i int) invalidate.Scope {
			k, err := space.Key(fmt.Sprint(i % 100_000))
			if err != nil {
				b.Error(err)
			}
			return invalidate.Key(k)
		}},
		{"tags", func(i int) invalidate.Scope {
			return invalidate.Tag(cache.DefaultTenant, fmt.Sprint("other:", i%100_000))
		}},
		{"prefixes", func(i int) invalidate.Scope {
			return invalidate.Prefix(cache.DefaultTenant, fmt.Sprint("others:", i%100_000))
		}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			tiers, ctx := openBench(b, cache.TiersConfig{}), context.Background()
			c, err := cache.New(tiers, cache.Config[int64, profile]{
				Namespace: "bench:v1",
				Load:      func(_ context.Context, id int64) (profile, error) { return profileOf(id), nil },
				Tags:      func(id int64, _ profile) []string { return []string{fmt.Sprint("a:", id%100), fmt.Sprint("b:", id%7)} },
			})
			if err != nil {
				b.Fatal(err)
			}
			for id := range int64(keys) {
				if _, err := c.Get(ctx, id); err != nil {
					b.Fatal(err)
				}
			}
			stop := make(chan struct{})
			var others sync.WaitGroup
			if bb.other != nil {
				others.Go(func() {
					every := time.NewTicker(time.Millisecond)
					defer every.Stop()
					for i := 0; ; {
						select {
						case <-stop:
							return
						case <-every.C:
						}
						for range 10 {
							if err := tiers.Invalidate(ctx, bb.other(i)); err != nil {
								b.Error(err)
							}
							i++
						}
					}
				})
			}
			i := int64(0)
			for b.Loop() {
				v, _ := c.Get(ctx, i%keys)
				i += 7 + v.ID&1
			}
			b.StopTimer()
			close(stop)
			others.Wait()
		})
	}
}
