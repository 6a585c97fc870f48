package resident

import (
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/measure"
)

// What this process holds of a key, and whether it may be served.

// At returns the entry at an address of the local tier, if it belongs to the view: same Tiers, same
// space, and so the same types. Its key may be another one.
func (v *View) At(at uint64) *Entry {
	x, _ := v.Core.Local.Get(at)
	if n, ok := x.(*localnode.Node); ok && v.holds(Of(n)) {
		return Of(n)
	}
	return nil
}

// holds reports whether an entry belongs to the view. A local tier may hold entries of other Tiers.
func (v *View) holds(it *Entry) bool {
	return it.Home == &v.Home || it.Home.In == v.In
}

// Note says what a local hit must report. 0: nothing. noted: an event. From Timed on: the hit is
// in the sample, and the note minus Timed is the time at which the hit read the clock.
type Note int64

// The smallest notes.
const (
	noted Note = iota + 1
	Timed
)

// Hit reports whether the fast path can serve the entry. A warm program is nearly always on this
// path: one hash, one look-up, one reading of the clock, the lease, and the fences. The order of
// the last two matters; see lease.go. A caller that has read the clock gives now; others give 0. An
// entry that never expires needs no clock if there is no log. The lease is for values that are built
// from the entry. With ok, the note says whether the hit must be reported. Without it, it says whether the slow path
// may still serve an entry.
func (v *View) Hit(it *Entry, now int64) (lease int64, n Note, ok bool) {
	t := v.Core
	lease = t.Lease.Read() // before the fences
	if now == 0 && (it.QuietUntil != Never || t.Bound != 0) {
		now = t.Now()
	}
	reason := measure.NotStale
	if now >= it.QuietUntil {
		if reason = rests(it, now); reason == measure.NotStale {
			return 0, noted, false
		}
	}
	p := v.resolved.Load() // as InForce, without the call
	if p.table != t.policies.Load() {
		p = v.resolve()
	}
	if p.Off {
		return 0, 0, false
	}
	if !t.Lease.Covers(lease, now) && !t.isConfirmed(lease, now, it.ReadAt()) {
		return 0, noted, false
	}
	if !it.Quiet(v.In) {
		if !it.Unfenced(t.Fences) {
			return 0, 0, false
		}
		if it.Ended.Load() != 0 { // its times have changed
			now = t.Or(now)
			if reason = rests(it, now); reason == measure.NotStale {
				return 0, noted, false
			}
		}
	}
	it.CheckUnchanged()
	if nth, bits := v.Counts.Hit(!it.Plain && it.Err != nil, reason), t.Notable.Load()&p.Sample; measure.Chosen(nth, bits) {
		if n = noted; measure.Timing(nth, bits) {
			now = t.Or(now)
			n = Timed + Note(now)
		}
	}
	if reason != measure.NotStale {
		t.Seen.Staleness(v.Counts, now-it.FreshUntil())
	}
	return lease, n, true
}

// rests returns why an entry past its freshness is served without any other action: a refresh is
// running, or must not start yet. It returns measure.NotStale if some action is due.
func rests(it *Entry, now int64) measure.Reason {
	if !it.Pauses(now) {
		return measure.NotStale
	}
	return WhyStale(it, it.Freshness(now), now)
}

// WhyStale returns why an entry in a state past its freshness may be served: while it is refreshed, or
// because a load failed a moment ago. It returns measure.NotStale if there is no reason.
func WhyStale(it *Entry, state Freshness, now int64) measure.Reason {
	switch {
	case state == Fresh || state == Dead:
	case state == Stale && it.TrustUntil >= it.FreshUntil(): // after LocalTTL, ask the remote tier
		return measure.Revalidating
	case it.FailedLately(now):
		return measure.FailedLoad
	}
	return measure.NotStale
}

// Find returns the entry of a key, fresh or not, if the lease or its own load confirms it and no
// fence covers it. It also returns the time of that check: the clock's if when is 0.
// same reports whether an entry of the view holds the key.
func (v *View) Find(at uint64, same func(*Entry) bool, when int64) (it *Entry, now int64) {
	t := v.Core
	if it = v.Lookup(at, same); it == nil {
		return nil, when
	}
	lease := t.Lease.Read() // before the fences
	now = t.Or(when)
	if !t.isConfirmed(lease, now, it.ReadAt()) || !it.Unfenced(t.Fences) {
		return nil, now
	}
	return it, now
}

// Lookup returns the entry of a key without any check.
func (v *View) Lookup(at uint64, same func(*Entry) bool) *Entry {
	if it := v.At(at); it != nil && same(it) {
		return it
	}
	return nil
}

// old returns the entry to serve when the load fails or takes too long. It may have any age that
// its policy allows, but it is never invalidated.
func (v *View) old(at uint64, same func(*Entry) bool) *Entry {
	it, now := v.Find(at, same, 0)
	if it == nil || it.Err != nil || it.Freshness(now) == Dead {
		return nil
	}
	return it
}

// EndKey ends the resident entry of the key with that id, or if fresh is not [fence.Forever], its freshness at
// that time. In one of 2^64 cases it ends the entry of another key, which costs a load. It implements [fence.Owner].
func (v *View) EndKey(id string, fresh int64) {
	at, ok := v.slotOf(id)
	if !ok {
		return
	}
	switch it := v.At(at); {
	case it == nil:
	case fresh != fence.Forever:
		it.ExpireAt(fresh)
	default:
		it.End()
		v.Core.Local.Delete(at)
	}
}

// Clear reports whether the entry is confirmed and no fence covers it now.
func (v *View) Clear(it *Entry) bool {
	t := v.Core
	lease := t.Lease.Read() // before the fences
	return t.isConfirmed(lease, t.Now(), it.ReadAt()) && it.Unfenced(t.Fences)
}
