package engine

import (
	"cmp"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/wire"
)

// never is a time in the infinite future.
const never = int64(1<<63 - 1)

// longAgo is before any other time. Durations can be counted from it without overflow.
const longAgo = -int64(1 << 62)

// Entry is what the engine knows of an entry of the local tier, and of the result of every load: a
// value, or a remembered absence or error. Once it is shared, only clearAt, born, ended and nextTry
// change. Times are nanoseconds since Open.
//
// An entry is the last part of an item, which holds the key and the value before it. Both are one
// allocation, and the order of the fields matters. The key and the value, the fields that every hit
// reads, and the 28 bytes of its node that the tier reads are adjacent, so that a hit touches few
// cache lines. The fields after them are not read by a plain hit. Rare fields are behind a pointer.
type Entry struct {
	_ [0]func() // not comparable, so that the compiler makes no comparison of items

	quietUntil int64         // a hit before it takes the fast path
	View       *View         // compared by pointer, then by space
	clearAt    atomic.Uint64 // Fences.Generation when no fence covered it; or covered, or expired
	low        uint32        // the low half of the full key's hash, for the fences
	Plain      bool          // set by put: it has neither err nor tags
	here       bool          // loaded by this process, whose own clock vouches for it
	localnode.Node

	born       atomic.Uint64 // Mark.Tick, or a later tick at which no fence covered it
	loadedAt   int64         // when the load began
	softUntil  int64         // fresh until
	staleUntil int64         // until then served while a refresh runs
	hardUntil  int64         // until then served in place of a failed load
	loadTime   time.Duration
	nextTry    atomic.Int64 // no refresh starts before it; odd: a load failed, see spared
	ended      atomic.Int64 // when an Expire ended its freshness, plus one; 0: none did
	seal
	*rare
}

// rare holds what most items do not need. Those share common; see own.
type rare struct {
	trustUntil int64 // until then fresh without a question to the remote tier
	worn       bool  // built from an item whose freshness an Expire had ended
	held       bool  // a hold keeps it, and what is built from it, from being cached
	older      int64 // loadedAt minus the moment that vouches for its oldest part
	Err        error // of a remembered absence or error; a hit returns it
	tagSet
	terms *wire.Terms // nil: unsaid
}

// common is the rare part of items that need none. It never changes.
var common = &rare{trustUntil: never}

// own returns the item's own rare part, for writing. The item is not shared yet.
func (it *Entry) own() *rare {
	if it.rare == common {
		it.rare = &rare{trustUntil: never}
	}
	return it.rare
}

// FullKey spells the key. It succeeded once before the entry was made. It implements follow.Keyed.
func (it *Entry) FullKey() string {
	full, err := it.View.kind.Spell(it)
	if err != nil {
		return ""
	}
	return full.String()
}

// readAt returns when the load began, on this process's clock, if it ran here; otherwise
// longAgo. A value that was built from cached values counts as read when the oldest of them was
// known to be true.
func (it *Entry) readAt() int64 {
	if it.here {
		return it.loadedAt - it.older
	}
	return longAgo
}

// freshness says how an item that no fence covers may be served at a moment.
type freshness uint8

const (
	dead      freshness = iota // must not be served
	lastHope                   // only in place of a failed load
	stale                      // while a refresh runs
	untrusted                  // fresh, but the remote tier must be asked first
	fresh
)

func (it *Entry) freshness(now int64) freshness {
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

// lifetime says how long a value may be served, counted from the time when it is stored.
type lifetime struct {
	soft, trust, stale, hard time.Duration
	ahead                    time.Duration // early refreshes are drawn so long before soft; 0: none
}

// live sets the item's times.
func (it *Entry) live(now int64, l lifetime) {
	it.softUntil = after(now, l.soft)
	it.trustTo(after(now, l.trust))
	it.staleUntil = after(it.softUntil, l.stale)
	it.hardUntil = max(after(now, l.hard), it.staleUntil)
	it.quietUntil = min(it.softUntil, it.trustUntil)
	if l.ahead > 0 && it.softUntil != never {
		it.quietUntil = min(it.quietUntil, it.softUntil-int64(l.ahead))
	}
}

func (it *Entry) trustTo(t int64) {
	if t != it.trustUntil {
		it.own().trustUntil = t
	}
}

// after returns t+d, or never if that overflows.
func after(t int64, d time.Duration) int64 {
	if d > 0 && t > never-int64(d) {
		return never
	}
	return t + int64(d)
}

// agree gives a loaded value its terms. An absence has none, because no read serves it stale.
func (it *Entry) agree(m wire.Terms) {
	if it.Err == nil && m != wire.Unsaid {
		said := m // m itself would cost an allocation in every call
		it.own().terms = &said
	}
}

func (it *Entry) said() *wire.Terms { return cmp.Or(it.terms, &wire.Unsaid) }

// keptUntil returns the time until which a load that replaces the item may see it. It is never
// before the last result of times.
func (it *Entry) keptUntil() int64 {
	_, _, hard := it.times()
	return after(hard, it.said().Keep)
}

// precedes reports whether a load that replaces the item may see it, if no fence covers it.
func (it *Entry) precedes(now int64) bool {
	return it.Err == nil && !it.worn && now < it.keptUntil()
}

// bridges reports whether the item may be served because its load is slow. SetStale(0) forbids
// this for an item that is not fresh.
func (it *Entry) bridges(now int64) bool {
	return it.said().Stale != 0 || it.freshness(now) >= untrusted
}
