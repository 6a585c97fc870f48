// Package localbench measures the hit ratios of local tiers. Comparisons with other caches, and the times
// of hits and stores, are in internal/bench.
package localbench

import "github.com/twofold-go/twofold/tier"

// EntryCost is the cost of each entry.
const EntryCost = 1024

// HitRatio replays a trace: a get and, on a miss, a set. It returns the hits in percent.
func HitRatio(l tier.Local, keys []uint64) float64 {
	hits := 0
	for _, h := range keys {
		if _, ok := l.Get(h); ok {
			hits++
		} else {
			l.Set(h, h, EntryCost)
		}
	}
	return 100 * float64(hits) / float64(len(keys))
}
