package cache

import (
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier/local"
)

// never is a time that does not come.
const never = int64(1<<63 - 1)

// longAgo is a time before any other, from which durations can be counted.
const longAgo = -int64(1 << 62)

// item is an entry of the local tier and the result of every load: a value, or
// a remembered absence. It does not change once it is shared, but for the
// stamp's own bookkeeping and nextTry. Times are nanoseconds since the Tiers
// were opened.
//
// It holds what a hit reads, and no more: the rest lies elsewhere, so that the
// items of 100,000 hot keys are spread over as few pages of memory as can be.
type item[K comparable, V any] struct {
	local.Node
	quietUntil int64         // before it a hit needs no further thought
	space      *key.Space    // compared by pointer first, then by value
	clearAt    atomic.Uint64 // Fences.Generation it was last found clear at, plus one
	low        uint32        // of Stamp.Hash, for Fences.Since
	plain      bool          // set by put: neither err nor tags is there to be looked at
	key        K
	val        V
	*detail
}

// detail is the part of an item that a plain hit does not look at.
type detail struct {
	invalidate.Stamp
	err    error // of a remembered absence: what a hit returns
	tags   []uint64
	names  []string // of the tags, when there is a registry to know them; see entities
	text   string   // full key
	counts *counters

	loadedAt   int64 // when the load began
	readAt     int64 // the same, if it ran in this process, else longAgo: other clocks vouch for nothing
	softUntil  int64 // fresh until
	trustUntil int64 // fresh here until the remote tier is asked again
	staleUntil int64 // served while a refresh runs until
	hardUntil  int64 // served in place of a failed load until
	loadTime   time.Duration
	failSafe   bool             // put back after a failed load, to throttle the next
	token      invalidate.Token // of its registration
	seal
	nextTry atomic.Int64 // no refresh is started before
}

// freshness is what a moment makes of an item that no fence covers.
type freshness uint8

const (
	dead      freshness = iota // not to be served at all
	lastHope                   // only in place of a failed load
	stale                      // while a refresh runs
	untrusted                  // fresh, but the remote tier is to be asked first
	fresh
)

func (it *item[K, V]) freshness(now int64) freshness {
	switch {
	case now < it.softUntil && now < it.trustUntil:
		return fresh
	case now < it.softUntil:
		return untrusted
	case now < it.staleUntil:
		return stale
	case now < it.hardUntil:
		return lastHope
	}
	return dead
}

// lifetime says how long a value is good for, counted from the moment it is
// stored.
type lifetime struct {
	soft, trust, stale, hard time.Duration
	ahead                    time.Duration // before soft, where early refreshes are drawn; 0: none
}

// live sets the item's times.
func (it *item[K, V]) live(now int64, l lifetime) {
	it.softUntil = after(now, l.soft)
	it.trustUntil = after(now, l.trust)
	it.staleUntil = after(it.softUntil, l.stale)
	it.hardUntil = max(after(now, l.hard), it.staleUntil)
	it.quietUntil = min(it.softUntil, it.trustUntil)
	if it.failSafe {
		it.quietUntil = -never // every read of it is to be counted as stale
	}
	if l.ahead > 0 && it.softUntil != never {
		it.quietUntil = min(it.quietUntil, it.softUntil-int64(l.ahead))
	}
}

// after returns t+d, never when it does not fit.
func after(t int64, d time.Duration) int64 {
	if d > 0 && t > never-int64(d) {
		return never
	}
	return t + int64(d)
}
