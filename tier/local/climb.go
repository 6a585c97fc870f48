package local

import (
	"math"
	"sync"
	"sync/atomic"
)

// climb searches for the best share of the windows. It changes the share, and goes on in the same
// direction as long as the hit ratio rises (Einziger, Eytan, Friedman and Manes, "Adaptive Software
// Cache Management", Middleware 2018; the steps are Caffeine's), unless the windows' part of the hits
// tells the direction.
//
// It estimates the hit ratio from samples: it counts the hits and the new entries of one hash in
// 16, or of more hashes when there are fewer than 16 shards. So in a large tier most hits write
// to no counter. An entry counts at most 63 hits in a period, so many processors that hit one
// entry do not write to the same cache line all the time.
type climb struct {
	misses atomic.Uint64 // of samples

	mu     sync.Mutex // protects the rest
	share  float64    // share of MaxBytes
	size   float64    // size of the next step
	down   bool       // the direction
	ratio  float64    // hit ratio of the last period; NaN: none yet
	hits   uint64     // counters when the period began
	early  uint64
	missed uint64
}

const (
	firstShare   = 0.05
	leastShare   = 0.01
	greatest     = 0.80
	firstStep    = 1.0 / 16
	shrinking    = 0.98 // of steps
	leap         = 0.05 // after such a change of the hit ratio, steps are long again
	leastSamples = 1000 // of a period

	// Before the climb looks at the change of the ratio, it compares the windows' part of the
	// hits with their share of the bytes. With hardly any hits, or with more than many times the
	// share, the windows grow. With less than few times, they shrink.
	hardly = 0.05
	many   = 2
	few    = 0.3
)

// callsOf returns how many calls make a period of a tier that has room for so many entries. A
// period must be so long that chance does not decide the next step, and that the last step has
// had its effect. The first takes 25,000 calls at most, the second two for each entry.
func callsOf(room int) int { return max(2*room, min(5*room, 25_000)) }

func (c *climb) start() { c.share, c.size, c.ratio = firstShare, firstStep, math.NaN() }

func (c *climb) limit(maxBytes int64) int64 { return int64(c.share * float64(maxBytes)) }

// sampleHit counts a hit on a sample.
func (s *shard) sampleHit(n *node, seen uint32) {
	period := s.tier.period.Load()
	if seen>>periodShift != period {
		seen = period<<periodShift | seen&(hitsMask|ofMain)
	}
	if seen>>countShift&countMask < countMask {
		n.Seen.Store(seen + 1<<countShift)
		s.hits.Add(1)
		if seen&ofMain == 0 {
			s.early.Add(1)
		}
	}
}

// step ends the period if it is long enough, and changes the share.
func (c *climb) step(t *Tier) {
	if !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	var hits, early uint64
	room := 0
	for i := range t.shards {
		hits += t.shards[i].hits.Load()
		early += t.shards[i].early.Load()
		room += t.shards[i].table.Cells() * 4 / 7 // what a table holds that has just grown
	}
	misses := c.misses.Load()
	hit, inWindow, missed := hits-c.hits, early-c.early, misses-c.missed
	if hit+missed < uint64(max(leastSamples, callsOf(room)/min(len(t.shards), maxSampling))) {
		return
	}
	c.hits, c.early, c.missed = hits, early, misses
	t.period.Store((t.period.Load() + 1) & periodMask)
	if c.adjust(float64(hit)/float64(hit+missed), float64(inWindow)/float64(max(hit, 1)), t.isFull()) {
		t.limit.Store(c.limit(t.max))
	}
}

// adjust takes the hit ratio of a period and the windows' part of the hits, and reports whether the
// share has changed.
func (c *climb) adjust(ratio, part float64, isFull bool) bool {
	change := ratio - c.ratio
	c.ratio = ratio
	if math.IsNaN(change) || !isFull {
		return false
	}
	switch {
	case ratio < hardly || part > many*c.share:
		c.down = false
	case part < few*c.share:
		c.down = true
	case change < 0:
		c.down = !c.down
	}
	step := c.size
	if c.down {
		step = -step
	}
	c.share = min(max(c.share+step, leastShare), greatest)
	if c.size *= shrinking; math.Abs(change) >= leap {
		c.size = firstStep
	}
	return true
}
