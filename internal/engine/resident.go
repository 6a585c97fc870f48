package engine

import (
	"math/rand/v2"
	"time"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/internal/localnode"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/policy"
)

// What this process holds of a key, and whether it may be served.

// At returns the entry at an address of the local tier, if it belongs to the view: same Tiers, same
// space, and so the same types. Its key may be another one.
func (v *View) At(at uint64) *Entry {
	x, _ := v.t.local.Get(at)
	if n, ok := x.(*localnode.Node); ok && entryOf(n).of(v) {
		return entryOf(n)
	}
	return nil
}

// of reports whether an entry belongs to a view. A local tier may hold entries of other Tiers.
func (it *Entry) of(v *View) bool {
	return it.View == v || it.View.t == v.t && it.View.Space == v.Space
}

// Hit reports whether the fast path can serve the entry. A warm program is nearly always on this
// path: one hash, one look-up, one reading of the clock, the lease, and the fences. The order of
// the last two matters; see lease.go. A moment other than 0 replaces the clock. An entry that never
// expires needs no clock if there is no log. The lease is for values that are built from the entry.
// With ok, the note says whether the hit must be reported. Without it, it says whether the slow path
// may still serve an entry.
func (v *View) Hit(it *Entry, moment int64) (lease int64, n Note, ok bool) {
	t := v.t
	lease = t.lease.Read() // before the fences
	now := moment
	if now == 0 && (it.quietUntil != never || t.bound != 0) {
		now = t.now()
	}
	reason := measure.NotStale
	if now >= it.quietUntil {
		if reason = it.rests(now); reason == measure.NotStale {
			return 0, noted, false
		}
	}
	p := v.inForce()
	if p.Off {
		return 0, 0, false
	}
	if !t.lease.Covers(lease, now) && !t.vouches(lease, now, it.readAt()) {
		return 0, noted, false
	}
	if it.clearAt.Load() != t.fences.Generation() {
		if !it.unfenced(t) {
			return 0, 0, false
		}
		if it.ended.Load() != 0 { // its times have changed
			now = t.or(now)
			if reason = it.rests(now); reason == measure.NotStale {
				return 0, noted, false
			}
		}
	}
	it.checkUnchanged()
	if nth, bits := v.counts.Hit(!it.Plain && it.Err != nil, reason), t.notable.Load()&p.sample; measure.Chosen(nth, bits) {
		if n = noted; measure.Timing(nth, bits) {
			if moment != 0 || now == 0 {
				now = t.now()
			}
			n = timed + Note(now)
		}
	}
	if reason != measure.NotStale {
		t.seen.Staleness(v.counts, now-it.freshUntil())
	}
	return lease, n, true
}

// unfenced reports whether no fence covers the entry. It also notes the end of its freshness by an
// Expire; read that afterwards.
func (it *Entry) unfenced(t *Core) bool {
	gen := t.fences.Generation() // before the check: a later fence is not part of it
	switch at := it.clearAt.Load(); {
	case at == covered:
		return false
	case it.clearSince(t, at, gen):
		return true
	}
	tick, fresh, ok := t.fences.Clear(it.born.Load(), it.low, it, &it.Deps)
	return it.judged(gen, tick, fresh, ok)
}

// clearSince reports whether no fence since the generation at, which clearAt had, concerns the entry.
func (it *Entry) clearSince(t *Core, at, gen uint64) bool {
	return at != expired && (at == gen || !t.fences.Since(at, it.low, it.View.part) && (it.Plain || !t.fences.DepsSince(at, &it.Deps)))
}

// rests returns why an entry past its freshness is served without any other action: a refresh is
// running, or must not start yet. It returns measure.NotStale if some action is due.
func (it *Entry) rests(now int64) measure.Reason {
	if !it.pauses(now) {
		return measure.NotStale
	}
	switch state := it.freshness(now); {
	case state == fresh || state == dead:
		return measure.NotStale
	case state == stale && it.trustUntil >= it.freshUntil():
		return measure.Revalidating
	case it.spared(now):
		return measure.FailedLoad
	}
	return measure.NotStale
}

// find returns the entry of a key in whatever state, as long as it is vouched for and no fence
// covers it, and the time it was judged at: the moment, or without one the clock's. same reports
// whether an entry of the view holds the key.
func (v *View) find(at uint64, same func(*Entry) bool, moment int64) (it *Entry, now int64) {
	t := v.t
	if it = v.lookup(at, same); it == nil {
		return nil, moment
	}
	lease := t.lease.Read() // before the fences
	now = t.or(moment)
	if !t.vouches(lease, now, it.readAt()) || !it.unfenced(t) {
		return nil, now
	}
	return it, now
}

// lookup returns the entry of a key without any check.
func (v *View) lookup(at uint64, same func(*Entry) bool) *Entry {
	if it := v.At(at); it != nil && same(it) {
		return it
	}
	return nil
}

// old returns the entry to serve when the load fails or takes too long. It may have any age that
// its policy allows, but it is never invalidated.
func (v *View) old(at uint64, same func(*Entry) bool) *Entry {
	it, now := v.find(at, same, 0)
	if it == nil || it.Err != nil || it.freshness(now) == dead {
		return nil
	}
	return it
}

// clear reports whether the entry is vouched for and no fence covers it now.
func (v *View) clear(it *Entry) bool {
	t := v.t
	lease := t.lease.Read() // before the fences
	return t.vouches(lease, t.now(), it.readAt()) && it.unfenced(t)
}

// due decides at random whether to refresh a fresh entry early (XFetch).
func (it *Entry) due(now int64, p *policy.Policy) bool {
	return p.RefreshAhead > 0 && it.softUntil() != never && it.Err == nil &&
		lifetimes.RefreshDue(time.Duration(it.softUntil()-now), it.loadTime.Duration(), p.RefreshAhead, 1-rand.Float64())
}
