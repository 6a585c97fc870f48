package fence

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// How long a hold is remembered.
//
// A load that began within a hold may have read an old value. It may end long after the hold. So
// the question is whether a hold that covers the value ended after the load began, and a hold that
// has ended is remembered. Loads longer than that are rare: such a load counts as held if any hold
// that is no longer remembered ended after it began.
const (
	// maxHolds bounds the holds of each kind that are kept at a time, in about 40 MB. Beyond it,
	// the oldest ended hold of the kind is forgotten. If none has ended, the next hold holds
	// everything of its kind. That costs loads. A forgotten hold would allow stale values.
	maxHolds = 1 << 18

	// remembered is how long a hold is remembered after its end.
	remembered = int64(5 * time.Minute)

	// sweeps is how many holds one call ends, and how many it forgets. So no call takes long, and
	// more holds are forgotten than can be added.
	sweeps = 4
)

// held is what one hold covers.
type held struct {
	kind invalidate.Kind
	prefix
}

func heldBy(f invalidate.Fence) held { return held{f.Kind, prefix{f.Hash, f.Len}} }

// hold is when a hold ends. Times are nanoseconds since the origin of the fences.
type hold struct {
	end   int64
	live  bool   // it is in holds.ends; otherwise in holds.past
	epoch uint32 // of its sequence when it was last stored; see lose
}

// holds says what must not be cached for a while.
type holds struct {
	n         atomic.Int64 // the holds that are kept; more than zero: loads must check
	forgotten atomic.Int64 // no forgotten hold ended later
	lost      atomic.Bool  // some live holds may be missing in the log; see lose

	mu      sync.Mutex // protects the rest
	kept    map[held]hold
	ends    ends                             // the live holds, by their end or an earlier time
	past    [invalidate.KindAll + 1][]ending // the ended holds of each kind, the first to end first
	count   [invalidate.KindAll + 1]int      // the number of holds in kept, by kind
	all     [invalidate.KindAll + 1]hold     // the hold of everything of a kind; zero: none
	last    [invalidate.KindAll + 1]int64    // when the last hold of each kind ends
	lens    map[int]int                      // the number of prefixes of each length
	lengths []int                            // those lengths, ascending
	widened int64
	epochs  [2]uint32 // how often the sequences of keys and of scopes began a new epoch
}

func (h *holds) add(f invalidate.Fence, now int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep(now)
	end, k := after(now, f.Hold), heldBy(f)
	h.last[k.kind] = max(h.last[k.kind], end)
	_, known := h.kept[k]
	for room := !known; room && h.count[k.kind] >= maxHolds; {
		room = h.forgetFirst(k.kind)
	}
	switch {
	case !known && h.count[k.kind] >= maxHolds:
		h.widened++
		fallthrough
	case k.kind == invalidate.KindAll:
		h.all[k.kind] = hold{end: max(h.all[k.kind].end, end), live: true, epoch: h.epochOf(k.kind)}
	default:
		h.keep(k, end)
	}
	h.n.Store(h.number())
}

// after returns now+d. A record may carry any duration.
func after(now int64, d time.Duration) int64 {
	return now + int64(min(d, 1<<62))
}

func (h *holds) keep(k held, end int64) {
	if h.kept == nil {
		h.kept, h.lens = make(map[held]hold), make(map[int]int)
	}
	old, known := h.kept[k]
	h.kept[k] = hold{end: max(old.end, end), live: true, epoch: h.epochOf(k.kind)}
	if !old.live {
		h.ends.push(ending{max(old.end, end), k})
	}
	if known {
		return
	}
	h.count[k.kind]++
	if k.kind != invalidate.KindPrefix {
		return
	}
	if h.lens[k.len]++; h.lens[k.len] == 1 {
		i, _ := slices.BinarySearch(h.lengths, k.len)
		h.lengths = slices.Insert(h.lengths, i, k.len)
	}
}

// forgetFirst forgets the hold of a kind that ended first. It reports false if none has ended.
func (h *holds) forgetFirst(kind invalidate.Kind) bool {
	if len(h.past[kind]) == 0 {
		return false
	}
	first := h.past[kind][0]
	h.past[kind] = h.past[kind][1:]
	if now := h.kept[first.held]; now.live || now.end != first.at { // it was held again
		return true
	}
	h.forgetUntil(first.at)
	delete(h.kept, first.held)
	h.count[kind]--
	if kind != invalidate.KindPrefix {
		return true
	}
	if h.lens[first.len]--; h.lens[first.len] == 0 {
		delete(h.lens, first.len)
		i, _ := slices.BinarySearch(h.lengths, first.len)
		h.lengths = slices.Delete(h.lengths, i, i+1)
	}
	return true
}

func (h *holds) forgetUntil(end int64) { h.forgotten.Store(max(h.forgotten.Load(), end)) }

// sweep ends some of the holds whose time is over, and forgets some that ended long ago. A hold
// that was extended goes back into the heap.
func (h *holds) sweep(now int64) {
	for range sweeps {
		if len(h.ends) == 0 || h.ends[0].at > now {
			break
		}
		first := h.ends.pop()
		x := h.kept[first.held]
		if x.end > now {
			h.ends.push(ending{x.end, first.held})
			continue
		}
		x.live = false
		h.kept[first.held] = x
		h.past[first.kind] = append(h.past[first.kind], ending{x.end, first.held})
	}
	for k := range h.past {
		for n := 0; n < sweeps && len(h.past[k]) > 0 && h.past[k][0].at <= now-remembered; n++ {
			h.forgetFirst(invalidate.Kind(k)) //nolint:gosec // an index of kinds
		}
		if end := h.all[k].end; end > 0 && end <= now-remembered {
			h.forgetUntil(end)
			h.all[k] = hold{}
		}
	}
}

// number returns how many holds are kept, including those of whole kinds.
func (h *holds) number() int64 {
	n := len(h.kept)
	for _, x := range h.all {
		if x.end > 0 {
			n++
		}
	}
	return int64(n)
}

// cover reports whether a hold that ended after since covers the key, or what the value depends on.
func (h *holds) cover(hash uint64, key string, d *Deps, since, now int64) bool {
	tags := d.tags()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sweep(now)
	h.n.Store(h.number())
	since = max(since, 0) // a zero hold ended at 0
	all := func(k invalidate.Kind) bool { return h.all[k].end > since }
	lasts := func(k held) bool { return h.kept[k].end > since }
	if all(invalidate.KindAll) || all(invalidate.KindKey) || all(invalidate.KindPrefix) || len(tags) > 0 && all(invalidate.KindTag) ||
		lasts(held{invalidate.KindKey, prefix{hash: hash}}) {
		return true
	}
	for _, t := range tags {
		if lasts(held{invalidate.KindTag, prefix{hash: t}}) || t == invalidate.AnyTag && h.last[invalidate.KindTag] > since {
			return true
		}
	}
	if d.built() && h.coverParts(d, since, lasts) {
		return true
	}
	return anyPrefix(key, h.lengths, func(p prefix) bool { return lasts(held{invalidate.KindPrefix, p}) })
}

// coverParts is cover for the parts of a value. A value with too many parts is held by any hold of
// a key or a prefix that ended after since.
func (h *holds) coverParts(d *Deps, since int64, lasts func(held) bool) bool {
	if d.anyKey() && max(h.last[invalidate.KindKey], h.last[invalidate.KindPrefix]) > since {
		return true
	}
	for _, k := range d.Keys {
		if lasts(held{invalidate.KindKey, prefix{hash: k}}) {
			return true
		}
	}
	for _, p := range d.Prefixes {
		for _, n := range h.lengths {
			if lasts(held{invalidate.KindPrefix, prefix{p, n}}) {
				return true
			}
		}
	}
	return false
}

// Held reports whether an invalidation with [invalidate.Hold] covers the key, or what the value
// depends on, and still did so after since, in nanoseconds since the origin. If so, a value that was
// loaded since then must not be cached.
func (f *Fences) Held(hash uint64, key string, d *Deps, since int64) bool {
	h := &f.holds
	return h.n.Load() > 0 && h.cover(hash, key, d, since, f.Now()) || h.forgotten.Load() > max(since, 0)
}

// Holding reports whether an invalidation with [invalidate.Hold] covers the key now, or what the value
// depends on.
func (f *Fences) Holding(hash uint64, key string, d *Deps) bool {
	if f.holds.n.Load() == 0 {
		return false
	}
	now := f.Now()
	return f.holds.cover(hash, key, d, now, now)
}

// stats returns the number of holds that have not ended, as far as they were swept.
func (h *holds) stats(now int64) (live, widened int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	live = int64(len(h.ends))
	for _, x := range h.all {
		if x.end > now {
			live++
		}
	}
	return live, h.widened
}

// ending is the time at which a hold ends.
type ending struct {
	at int64
	held
}

// ends is a heap with the earliest first. container/heap would allocate for every element.
type ends []ending

func (e *ends) push(x ending) {
	h := append(*e, x)
	*e = h
	for i := len(h) - 1; i > 0; {
		up := (i - 1) / 2
		if h[i].at >= h[up].at {
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
		if down+1 < n && h[down+1].at < h[down].at {
			down++
		}
		if down >= n || h[down].at >= h[i].at {
			return first
		}
		h[i], h[down] = h[down], h[i]
		i = down
	}
}
