package cache

import (
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/key"
)

// never is a time that does not come.
const never = int64(1<<63 - 1)

// longAgo is a time before any other, from which durations can be counted.
const longAgo = -int64(1 << 62)

// item is an entry of the local tier and the result of every load: a value, or
// a remembered absence. It does not change once it is shared, but for clearAt,
// born, ended and nextTry. Times are nanoseconds since the Tiers were opened.
//
// It is one piece of memory, whose order matters: the key and the value, what every hit
// reads, and the 28 bytes of its node that the tier reads are side by side, so that a hit
// touches as few cache lines as can be. Then comes what a plain hit does not look at. What
// few items have is behind a pointer.
type item[K comparable, V any] struct {
	key K
	val V

	quietUntil int64         // before it a hit needs no further thought
	view       *view         // compared by pointer first, then by its space
	clearAt    atomic.Uint64 // Fences.Generation it was last found clear at; or covered
	low        uint32        // of the full key's hash, for the fences
	plain      bool          // set by put: neither err nor tags is there to be looked at
	here       bool          // loaded by this process; the clocks of others vouch for nothing
	localnode.Node

	born       atomic.Uint64 // Mark.Tick, or a later tick that it was found clear at
	loadedAt   int64         // when the load began
	softUntil  int64         // fresh until
	staleUntil int64         // served while a refresh runs until
	hardUntil  int64         // served in place of a failed load until
	loadTime   time.Duration
	nextTry    atomic.Int64 // no refresh is started before; odd: a load failed, see spared
	ended      atomic.Int64 // when an Expire ended its freshness, plus one; 0: none did. See times
	seal
	*rare
}

// rare is what most items do without. It is shared by all that do: see own.
type rare struct {
	trustUntil int64 // fresh here until the remote tier is asked again
	worn       bool  // it was built from an item whose freshness an Expire had ended
	older      int64 // by how much the moment that vouches for its oldest part precedes loadedAt
	err        error // of a remembered absence: what a hit returns
	tagSet
	terms *terms // nil: unsaid
}

// common is the rare part of an item that has none. Nobody writes to it.
var common = &rare{trustUntil: never}

// own returns the rare part of an item that is not shared yet, to be written to.
func (it *item[K, V]) own() *rare {
	if it.rare == common {
		it.rare = &rare{trustUntil: never}
	}
	return it.rare
}

// FullKey spells the item's key: it was spelled once before, so it can be. It implements
// follow.Keyed.
func (it *item[K, V]) FullKey() string {
	id, err := key.Of(it.key)
	if err != nil {
		return ""
	}
	full, err := it.view.space.Key(id)
	if err != nil {
		return ""
	}
	return full.String()
}

// readAt returns when the load began, by this process's clock, if it ran here, else longAgo.
// A value that was built from cached ones counts as read when the oldest of them was known
// to be true.
func (it *item[K, V]) readAt() int64 {
	if it.here {
		return it.loadedAt - it.older
	}
	return longAgo
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
	soft, stale_, hard := it.times()
	switch {
	case now < soft && now < it.trustUntil:
		return fresh
	case now < soft:
		return untrusted
	case now < stale_:
		return stale
	case now < hard:
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
	it.trustTo(after(now, l.trust))
	it.staleUntil = after(it.softUntil, l.stale)
	it.hardUntil = max(after(now, l.hard), it.staleUntil)
	it.quietUntil = min(it.softUntil, it.trustUntil)
	if l.ahead > 0 && it.softUntil != never {
		it.quietUntil = min(it.quietUntil, it.softUntil-int64(l.ahead))
	}
}

func (it *item[K, V]) trustTo(t int64) {
	if t != it.trustUntil {
		it.own().trustUntil = t
	}
}

// after returns t+d, never when it does not fit.
func after(t int64, d time.Duration) int64 {
	if d > 0 && t > never-int64(d) {
		return never
	}
	return t + int64(d)
}
