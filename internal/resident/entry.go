package resident

import (
	"cmp"
	"errors"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/twofold-go/twofold/internal/fault"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/remote"
)

// Never is a time in the infinite future.
const Never = int64(1<<63 - 1)

// longAgo is before any other time. Durations can be counted from it without overflow.
const longAgo = -int64(1 << 62)

// Entry is what the engine knows of an entry of the local tier, and of the result of every load: a
// value, or a remembered absence or error. Once it is shared, only seen, state, Ended and nextTry change. Times are nanoseconds since Open.
//
// An entry is the last part of an item, which holds the key and the value before it. Both are one
// allocation, and the order of the fields matters. The key and the value, the fields that every hit
// reads, and the 16 bytes of its node that the tier reads are adjacent: a hit touches few
// cache lines. The fields after them are not read by a plain hit. Rare fields are behind a pointer,
// and times that need few bits are spans. So an entry takes 112 bytes; see TestEntryIsSmall.
type Entry struct {
	_ [0]func() // not comparable: the compiler makes no comparison of items

	QuietUntil     int64         // a hit before it takes the fast path
	Home           *Home         // compared by pointer, then by namespace
	mark           uint64        // Mark.Tick: what the process knew before the load or the fetch
	seen           atomic.Uint64 // the tick up to which it was compared with Expires and prefixes
	state          atomic.Uint32 // held, left, dead, expired
	Plain          bool          // set by Put: it has no Err and depends on nothing
	here           bool          // loaded by this process: its age is by this process's own clock
	localnode.Node               // what the local tier knows the entry by

	LoadedAt int64 // when the load began
	seal
	*Rare
	unquiet  lifetimes.Span // from QuietUntil it is fresh for so long
	LoadTime lifetimes.Span
	nextTry  atomic.Uint32 // a moment: no refresh starts before it; marked, if a load failed. 0: any time
	Ended    atomic.Uint32 // a marked moment: an Expire ended its freshness. 0: none did
}

// Of returns the entry of which n is a part. Only this package gives nodes to a local tier.
func Of(n *localnode.Node) *Entry {
	return (*Entry)(unsafe.Add(unsafe.Pointer(n), -int(unsafe.Offsetof(Entry{}.Node))))
}

// In returns the entry that a local tier holds, or nil if the tier got it from elsewhere.
func In(e any) *Entry {
	if n, ok := e.(*localnode.Node); ok {
		return Of(n)
	}
	return nil
}

// marked is a bit of moments. No marked moment is 0.
const marked = 1 << 31

// softUntil returns the time until which it is fresh, unless an Expire ended that earlier.
func (it *Entry) softUntil() int64 { return after(it.QuietUntil, it.unquiet.Duration()) }

// moment returns a time as a span since the load began. It rounds down.
func (it *Entry) moment(at int64) uint32 { return uint32(lifetimes.SpanOf(gap(it.LoadedAt, at))) }

// at returns the time of a moment.
func (it *Entry) at(moment uint32) int64 {
	return after(it.LoadedAt, lifetimes.Span(moment).Duration())
}

// Rare holds what most entries do not need. Those share common, or the usual one of their policy; see
// Writable.
type Rare struct {
	shared     bool          // it never changes
	staleFor   time.Duration // after its freshness, served while a refresh runs
	hopeFor    time.Duration // after its freshness, served in place of a failed load
	TrustUntil int64         // until then fresh without a question to the remote tier
	PartsOlder int64         // LoadedAt minus the moment at which its oldest part was last confirmed
	Err        error         // of a remembered absence or error; a hit returns it
	TagSet
	nodes []*fence.Node // of what it depends on, while the local tier has it
	Terms *remote.Terms // nil: unsaid
}

// common is the rare part of entries that need none.
var common = &Rare{shared: true, TrustUntil: Never}

// Init makes an entry that holds a key ready for a value.
func (it *Entry) Init(home *Home, mark fence.Mark) {
	it.Home, it.Rare = home, common
	it.Date(mark)
}

// Date gives an entry that is not shared yet the mark of what the process knows now.
func (it *Entry) Date(mark fence.Mark) {
	it.mark = mark.Tick
	it.seen.Store(mark.Tick)
}

// Mark returns the tick of the entry's mark.
func (it *Entry) Mark() uint64 { return it.mark }

// LoadedHere notes that this process loaded the value, when, and how long that took.
func (it *Entry) LoadedHere(begun int64, took time.Duration) {
	it.LoadedAt, it.here, it.LoadTime = begun, true, lifetimes.SpanOf(took)
}

// Overhead returns about how much memory the item takes besides its fields, its key and its value.
func (it *Entry) Overhead() (n int64) {
	if !it.shared {
		n += int64(unsafe.Sizeof(*it.Rare)) + int64(8*(len(it.Deps.Tags)+len(it.Keys)+len(it.Prefixes)+len(it.nodes)))
	}
	if it.Terms != nil {
		n += int64(unsafe.Sizeof(*it.Terms))
	}
	for _, text := range it.texts {
		n += int64(unsafe.Sizeof(text)) + int64(len(text))
	}
	return n
}

// Writable returns the entry's own rare part, for writing. The entry is not shared yet.
func (it *Entry) Writable() *Rare {
	if it.shared {
		r := *it.Rare
		r.shared = false
		it.Rare = &r
	}
	return it.Rare
}

// Usual holds the rare part of entries that were stored under one policy.
type Usual = atomic.Pointer[Rare]

// serve notes how long the entry is served after its freshness. Entries without a rare part of their own
// share the usual one, because these times usually come from the policy.
func (it *Entry) serve(staleFor, hopeFor time.Duration, usual *Usual) {
	fits := func(r *Rare) bool { return r != nil && r.staleFor == staleFor && r.hopeFor == hopeFor }
	switch {
	case fits(it.Rare):
	case !it.shared:
		it.staleFor, it.hopeFor = staleFor, hopeFor
	case fits(usual.Load()):
		it.Rare = usual.Load()
	default:
		it.Rare = &Rare{shared: true, TrustUntil: Never, staleFor: staleFor, hopeFor: hopeFor}
		usual.Store(it.Rare)
	}
}

// FullKey spells the key. It succeeded once before the entry was made.
func (it *Entry) FullKey() string {
	full, err := it.Home.Owner.KeyOf(it)
	if err != nil {
		return ""
	}
	return full.String()
}

// ReadAt returns when the load began, on this process's clock, if it ran here; otherwise
// longAgo. A value that was built from cached values counts as read when the oldest of them was
// known to be true.
func (it *Entry) ReadAt() int64 {
	if it.here {
		return it.LoadedAt - it.PartsOlder
	}
	return longAgo
}

// Freshness says how an entry that no fence covers may be served at a moment.
type Freshness uint8

// The ways to serve an entry, from the worst to the best.
const (
	Dead      Freshness = iota // must not be served
	lastHope                   // only in place of a failed load
	Stale                      // while a refresh runs
	Untrusted                  // fresh, but the remote tier must be asked first
	Fresh
)

// Freshness returns how the entry may be served at a time, if no fence covers it.
func (it *Entry) Freshness(now int64) Freshness {
	soft, stale_, hard := it.Times()
	switch {
	case now < soft && now < it.TrustUntil:
		return Fresh
	case now < soft:
		return Untrusted
	case now < stale_:
		return Stale
	case now < hard:
		return lastHope
	}
	return Dead
}

// Lifetime says how long a value may be served, counted from the time when it is stored.
type Lifetime struct {
	Soft, Trust, Stale, Hard time.Duration
	Ahead                    time.Duration // early refreshes may begin so long before Soft; 0: none
	Firm                     bool          // Hard limits Stale; otherwise Stale extends Hard
}

// SetLifetime sets the entry's times. usual is that of the policy in force.
func (it *Entry) SetLifetime(now int64, l Lifetime, usual *Usual) {
	soft, hard := after(now, l.Soft), after(now, l.Hard)
	stale := after(soft, l.Stale)
	if l.Firm {
		stale = min(stale, hard)
	}
	if trust := after(now, l.Trust); trust != it.TrustUntil {
		it.Writable().TrustUntil = trust
	}
	it.serve(gap(soft, stale), gap(soft, max(hard, stale)), usual)
	it.QuietUntil = min(soft, it.TrustUntil)
	if l.Ahead > 0 && soft != Never {
		it.QuietUntil = min(it.QuietUntil, soft-int64(l.Ahead))
	}
	it.unquiet = lifetimes.SpanOf(gap(it.QuietUntil, soft))
}

// after returns t+d, or Never if that overflows.
func after(t int64, d time.Duration) int64 {
	if d > 0 && t > Never-int64(d) {
		return Never
	}
	return t + int64(d)
}

// gap returns the d with after(t, d) == to.
func gap(t, to int64) time.Duration {
	if to == Never && t != Never {
		return time.Duration(Never)
	}
	return time.Duration(to - t)
}

// SetTerms gives a loaded value its terms. An absence has none, because no read serves it stale.
func (it *Entry) SetTerms(m remote.Terms) {
	if it.Err == nil && m != remote.Unsaid {
		said := m // m itself would cost an allocation in every call
		it.Writable().Terms = &said
	}
}

// Said returns the terms of the value, for reading.
func (it *Entry) Said() *remote.Terms { return cmp.Or(it.Terms, &remote.Unsaid) }

// Remembered reports whether the entry is a remembered error.
func (it *Entry) Remembered() bool { return it.Err != nil && !errors.Is(it.Err, fault.ErrNotFound) }

// KeptUntil returns the time until which a load that replaces the entry may see it. It is never
// before the last result of Times.
func (it *Entry) KeptUntil() int64 {
	_, _, hard := it.Times()
	return after(hard, it.Said().Keep)
}

// Precedes reports whether a load that replaces the entry may see it, if no fence covers it.
func (it *Entry) Precedes(now int64) bool {
	return it.Err == nil && now < it.KeptUntil()
}

// Bridges reports whether the entry may be served because its load is slow. A Stale of zero that the loader set forbids
// this for an entry that is not fresh.
func (it *Entry) Bridges(now int64) bool {
	return it.Said().Stale != 0 || it.Freshness(now) >= Untrusted
}
