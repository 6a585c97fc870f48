package follow

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

const (
	// maxHolds bounds the holds of each kind that are kept at a time, in about 40 MB. The next hold
	// then holds everything of its kind. That costs loads, whereas a forgotten hold would allow
	// stale values.
	maxHolds = 1 << 18

	// sweeps is how many ended holds one call forgets. So no call takes long, and more holds are
	// forgotten than can be added.
	sweeps = 4
)

// held is what one hold covers.
type held struct {
	kind invalidate.Kind
	prefix
}

func heldBy(f invalidate.Fence) held { return held{f.Kind, prefix{f.Hash, f.Len}} }

// holds says what must not be cached for a while.
type holds struct {
	n atomic.Int64 // more than zero: some may be live, and reads must check

	mu      sync.Mutex // protects the rest
	until   map[held]time.Time
	ends    ends                              // when each hold in until ends, or an earlier time
	kept    [invalidate.KindAll + 1]int       // the number of holds in until, by kind
	all     [invalidate.KindAll + 1]time.Time // when the hold of everything of a kind ends
	anyTag  time.Time                         // when the hold of entries with AnyTag ends
	lens    map[int]int                       // the number of prefixes of each length
	lengths []int                             // those lengths, ascending
	widened int64
}

func (h *holds) add(f invalidate.Fence) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	end, k := now.Add(f.Hold), heldBy(f)
	h.sweep(now)
	if k.kind == invalidate.KindTag {
		h.anyTag = later(h.anyTag, end)
	}
	switch old, known := h.until[k]; {
	case known:
		h.until[k] = later(old, end)
	case h.kept[k.kind] >= maxHolds:
		h.widened++
		h.all[k.kind] = later(h.all[k.kind], end)
	case k.kind == invalidate.KindAll:
		h.all[k.kind] = later(h.all[k.kind], end)
	default:
		h.keep(k, end)
	}
	h.n.Store(h.live(now))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (h *holds) keep(k held, end time.Time) {
	if h.until == nil {
		h.until, h.lens = make(map[held]time.Time), make(map[int]int)
	}
	h.until[k] = end
	h.ends.push(ending{end, k})
	h.kept[k.kind]++
	if k.kind != invalidate.KindPrefix {
		return
	}
	if h.lens[k.len]++; h.lens[k.len] == 1 {
		i, _ := slices.BinarySearch(h.lengths, k.len)
		h.lengths = slices.Insert(h.lengths, i, k.len)
	}
}

func (h *holds) forget(k held) {
	delete(h.until, k)
	h.kept[k.kind]--
	if k.kind != invalidate.KindPrefix {
		return
	}
	if h.lens[k.len]--; h.lens[k.len] == 0 {
		delete(h.lens, k.len)
		i, _ := slices.BinarySearch(h.lengths, k.len)
		h.lengths = slices.Delete(h.lengths, i, i+1)
	}
}

// sweep forgets some of the ended holds. A hold that was extended goes back into the heap.
func (h *holds) sweep(now time.Time) {
	for range sweeps {
		if len(h.ends) == 0 || h.ends[0].at.After(now) {
			return
		}
		first := h.ends.pop()
		if end := h.until[first.held]; end.After(now) {
			h.ends.push(ending{end, first.held})
		} else {
			h.forget(first.held)
		}
	}
}

// live returns the number of kept holds, including those of whole kinds.
func (h *holds) live(now time.Time) int64 {
	n := len(h.until)
	for _, end := range h.all {
		if end.After(now) {
			n++
		}
	}
	return int64(n)
}

func (h *holds) cover(hash uint64, key string, tags []uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.sweep(now)
	h.n.Store(h.live(now))
	live := func(k held) bool { return h.until[k].After(now) }
	if h.all[invalidate.KindAll].After(now) || h.all[invalidate.KindKey].After(now) || h.all[invalidate.KindPrefix].After(now) || len(tags) > 0 && h.all[invalidate.KindTag].After(now) ||
		live(held{invalidate.KindKey, prefix{hash: hash}}) {
		return true
	}
	for _, t := range tags {
		if live(held{invalidate.KindTag, prefix{hash: t}}) || t == invalidate.AnyTag && h.anyTag.After(now) {
			return true
		}
	}
	return anyPrefix(key, h.lengths, func(p prefix) bool { return live(held{invalidate.KindPrefix, p}) })
}

func (h *holds) stats() (live, widened int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.live(time.Now()), h.widened
}

// ending is the time at which a hold ends.
type ending struct {
	at time.Time
	held
}

// ends is a heap with the earliest first. container/heap would allocate for every element.
type ends []ending

func (e *ends) push(x ending) {
	h := append(*e, x)
	*e = h
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h[i].at.Before(h[up].at) {
			return
		}
		h[i], h[up] = h[up], h[i]
		i = up
	}
}

func (e *ends) pop() ending {
	h := *e
	first, n := h[0], len(h)-1
	h[0] = h[n]
	*e = h[:n]
	h = h[:n]
	for i := 0; ; {
		down := 2*i + 1
		if down+1 < n && h[down+1].at.Before(h[down].at) {
			down++
		}
		if down >= n || !h[down].at.Before(h[i].at) {
			return first
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}
