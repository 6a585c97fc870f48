package engine

import (
	"cmp"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/wire"
	"github.com/twofold-go/twofold/tier"
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
// reads, and the 16 bytes of its node that the tier reads are adjacent, so that a hit touches few
// cache lines. The fields after them are not read by a plain hit. Rare fields are behind a pointer,
// and times that need few bits are spans. So an entry takes 112 bytes; see TestEntryIsSmall.
type Entry struct {
	_ [0]func() // not comparable, so that the compiler makes no comparison of items

	quietUntil     int64         // a hit before it takes the fast path
	View           *View         // compared by pointer, then by space
	clearAt        atomic.Uint64 // Fences.Generation when no fence covered it; or covered, or expired
	low            uint32        // the low half of the full key's hash, for the fences
	Plain          bool          // set by put: it has neither err nor tags
	here           bool          // loaded by this process, whose own clock vouches for it
	localnode.Node               // what the local tier knows the entry by

	born     atomic.Uint64 // Mark.Tick, or a later tick at which no fence covered it
	loadedAt int64         // when the load began
	seal
	*rare
	unquiet  lifetimes.Span // from quietUntil it is fresh for so long
	loadTime lifetimes.Span
	nextTry  atomic.Uint32 // a moment: no refresh starts before it; marked, if a load failed. 0: any time
	ended    atomic.Uint32 // a marked moment: an Expire ended its freshness. 0: none did
}

// entryOf returns the entry of which n is a part. Only this package gives nodes to a local tier.
func entryOf(n *localnode.Node) *Entry {
	return (*Entry)(unsafe.Add(unsafe.Pointer(n), -int(unsafe.Offsetof(Entry{}.Node))))
}

// entryIn returns the entry that a local tier holds, or nil if the tier got it from elsewhere.
func entryIn(e tier.Entry) *Entry {
	if n, ok := e.(*localnode.Node); ok {
		return entryOf(n)
	}
	return nil
}

// marked is a bit of moments. No marked moment is 0.
const marked = 1 << 31

// softUntil returns the time until which it is fresh, unless an Expire ended that earlier.
func (it *Entry) softUntil() int64 { return after(it.quietUntil, it.unquiet.Duration()) }

// moment returns a time as a span since the load began. It rounds down.
func (it *Entry) moment(at int64) uint32 { return uint32(lifetimes.SpanOf(gap(it.loadedAt, at))) }

// at returns the time of a moment.
func (it *Entry) at(moment uint32) int64 {
	return after(it.loadedAt, lifetimes.Span(moment).Duration())
}

// rare holds what most items do not need. Those share common, or the usual one of their policy; see
// own.
type rare struct {
	shared     bool          // it never changes
	staleFor   time.Duration // after its freshness, served while a refresh runs
	hopeFor    time.Duration // after its freshness, served in place of a failed load
	trustUntil int64         // until then fresh without a question to the remote tier
	worn       bool          // built from an item whose freshness an Expire had ended
	held       bool          // a hold keeps it, and what is built from it, from being cached
	older      int64         // loadedAt minus the moment that vouches for its oldest part
	Err        error         // of a remembered absence or error; a hit returns it
	tagSet
	terms *wire.Terms // nil: unsaid
}

// common is the rare part of items that need none.
var common = &rare{shared: true, trustUntil: never}

// own returns the item's own rare part, for writing. The item is not shared yet.
func (it *Entry) own() *rare {
	if it.shared {
		r := *it.rare
		r.shared = false
		it.rare = &r
	}
	return it.rare
}

// serve notes how long the item is served after its freshness. Items without a rare part of their own
// share one, because these times usually come from the policy.
func (it *Entry) serve(staleFor, hopeFor time.Duration) {
	fits := func(r *rare) bool { return r != nil && r.staleFor == staleFor && r.hopeFor == hopeFor }
	switch usual := &it.View.inForce().usual; {
	case fits(it.rare):
	case !it.shared:
		it.staleFor, it.hopeFor = staleFor, hopeFor
	case fits(usual.Load()):
		it.rare = usual.Load()
	default:
		it.rare = &rare{shared: true, trustUntil: never, staleFor: staleFor, hopeFor: hopeFor}
		usual.Store(it.rare)
	}
}

// FullKey spells the key. It succeeded once before the entry was made. It implements fence.Keyed.
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
	firm                     bool          // hard limits stale; otherwise stale extends hard
}

// live sets the item's times.
func (it *Entry) live(now int64, l lifetime) {
	soft, hard := after(now, l.soft), after(now, l.hard)
	stale := after(soft, l.stale)
	if l.firm {
		stale = min(stale, hard)
	}
	if trust := after(now, l.trust); trust != it.trustUntil {
		it.own().trustUntil = trust
	}
	it.serve(gap(soft, stale), gap(soft, max(hard, stale)))
	it.quietUntil = min(soft, it.trustUntil)
	if l.ahead > 0 && soft != never {
		it.quietUntil = min(it.quietUntil, soft-int64(l.ahead))
	}
	it.unquiet = lifetimes.SpanOf(gap(it.quietUntil, soft))
}

// after returns t+d, or never if that overflows.
func after(t int64, d time.Duration) int64 {
	if d > 0 && t > never-int64(d) {
		return never
	}
	return t + int64(d)
}

// gap returns the d for which after(t, d) is to.
func gap(t, to int64) time.Duration {
	if to == never && t != never {
		return time.Duration(never)
	}
	return time.Duration(to - t)
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
