package invalidate

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// maxHolds bounds the holds kept at a time. Beyond it everything is held until
// there is room again: that costs loads, and forgetting one would cost truth.
const maxHolds = 10_000

// holds is what is kept from being cached for a while.
type holds struct {
	n atomic.Int64 // holds kept, live or not yet swept

	mu      sync.Mutex // protects the rest
	until   map[Fence]time.Time
	lengths []int
	all     time.Time // everything is held until
}

func (h *holds) add(f Fence) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	end := now.Add(f.Hold)
	maps.DeleteFunc(h.until, func(_ Fence, t time.Time) bool { return !t.After(now) })
	if f.Hold = 0; len(h.until) >= maxHolds || (f.Kind == KindPrefix && f.Len == 0) {
		h.all = later(h.all, end)
	} else {
		if h.until == nil {
			h.until = make(map[Fence]time.Time)
		}
		h.until[f] = later(h.until[f], end)
	}
	h.lengths = h.lengths[:0]
	for f := range h.until {
		if f.Kind == KindPrefix {
			h.lengths = append(h.lengths, f.Len)
		}
	}
	slices.Sort(h.lengths)
	h.lengths = slices.Compact(h.lengths)
	h.n.Store(int64(len(h.until)) + 1)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (h *holds) cover(hash uint64, key string, tags []uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	live := func(f Fence) bool { return h.until[f].After(now) }
	if h.all.After(now) || live(Fence{Kind: KindKey, Hash: hash}) {
		return true
	}
	for _, t := range tags {
		if live(Fence{Kind: KindTag, Hash: t}) {
			return true
		}
	}
	for _, n := range h.lengths { // hashes of one length each: few, and rare
		if anyPrefix(key, []int{n}, func(p uint64) bool { return live(Fence{Kind: KindPrefix, Hash: p, Len: n}) }) {
			return true
		}
	}
	return h.sweep(now)
}

// sweep forgets the holds when all of them have ended, so that reads need not
// ask any more. It reports false.
func (h *holds) sweep(now time.Time) bool {
	for _, t := range h.until {
		if t.After(now) {
			return false
		}
	}
	clear(h.until)
	h.lengths = h.lengths[:0]
	h.n.Store(0)
	return false
}
