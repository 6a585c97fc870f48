package cache_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twofold-go/twofold/cache"
)

// A reader that reads the same keys in the same order, for ever and with one goroutine. The sample
// has each key about equally often, whatever the number of keys and the period of the sample have in
// common. With n keys it has n·each of them.
func TestAuditSamplesACycle(t *testing.T) {
	const each = 12
	for _, every := range []int{2, 64, 1024} {
		for _, n := range []int{1, 2, 7, 64, 96, 256, 610, 987, 1000, 1024, 1536, 2048} {
			if n*every > 1<<18 {
				continue // it takes too long
			}
			bubble(t, fmt.Sprintf("%d keys, one hit in %d", n, every), func(t *testing.T) {
				counts := make([]atomic.Int64, n)
				a := newAudited(t, cache.TiersConfig{MaxAudits: 1 << 20, MaxLoads: 1 << 20}, thingConfig{
					Policy: patch{Audit: new(1 / float64(every)), TTL: new(time.Hour)},
					Load: func(ctx context.Context, k int) (string, error) {
						if cache.Auditing(ctx) {
							counts[k].Add(1)
						}
						return "v", nil
					},
				})
				for k := range n {
					get(t, a.c, k)
				}
				for range each * every {
					for k := range n {
						get(t, a.c, k)
					}
				}
				advance(time.Minute)
				sum, missing, most := 0, 0, 0
				for i := range counts {
					c := int(counts[i].Load())
					sum, most = sum+c, max(most, c)
					if c == 0 {
						missing++
					}
				}
				// By chance, a key is missing with a probability of 6e-6, and has over 4 times
				// its share with one of 1e-13.
				if missing > 1 || most > 4*each || sum < n*each-2-n/16 || sum > n*each+2+n/16 {
					t.Errorf("%d audits of %d keys, want %d; %d keys had none, and one had %d", sum, n, n*each, missing, most)
				}
			})
		}
	}
}
