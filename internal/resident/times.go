package resident

import (
	"math/rand/v2"
	"time"

	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/policy"
)

// Expire notes when the entry's freshness ended. The earliest such time counts.
func (it *Entry) Expire(at int64) {
	for ended := it.moment(at) | marked; ; {
		old := it.Ended.Load()
		if old != 0 && old <= ended || it.Ended.CompareAndSwap(old, ended) {
			it.state.Or(expired) // after Ended: a hit that sees the bit reads it
			return
		}
	}
}

// EndFreshness makes a loaded entry, which no tier stores, stale from the time of its load.
func (it *Entry) EndFreshness() {
	it.NeverFresh()
	it.Expire(it.LoadedAt)
}

// NeverFresh ends the freshness of an entry that is not shared yet.
func (it *Entry) NeverFresh() { it.QuietUntil, it.unquiet = it.LoadedAt, 0 }

// Expired reports whether an Expire has ended the freshness of the entry, or of a part of it.
func (it *Entry) Expired() bool { return it.Ended.Load() != 0 }

// Times returns the times until which the entry is fresh, is served while a refresh runs, and is
// served in place of a failed load. An Expire makes all three earlier.
func (it *Entry) Times() (soft, stale, hard int64) {
	soft = it.softUntil()
	stale, hard = after(soft, it.staleFor), after(soft, it.hopeFor)
	ended := it.Ended.Load()
	at := it.at(ended)
	if ended == 0 || at >= soft {
		return soft, stale, hard
	}
	grace, keep := it.staleFor, it.hopeFor
	switch {
	case soft != Never:
	case it.Err == nil:
		grace, keep = it.Said().Grace(it.Home.Owner.Policy())
	default:
		grace, keep = 0, 0
	}
	return at, min(stale, after(at, grace)), min(hard, after(at, keep))
}

// FreshUntil returns the time until which the entry is fresh.
func (it *Entry) FreshUntil() int64 {
	soft, _, _ := it.Times()
	return soft
}

// FreshFor returns how much longer the entry is fresh.
func (it *Entry) FreshFor(now int64) time.Duration { return max(gap(now, it.FreshUntil()), 0) }

// Pause notes that no refresh starts for d from now.
func (it *Entry) Pause(now int64, d time.Duration) { it.nextTry.Store(it.moment(after(now, d))) }

// Pauses reports whether no refresh may start now.
func (it *Entry) Pauses(now int64) bool {
	next := it.nextTry.Load()
	return next != 0 && now < it.at(next)
}

// StartTry reports whether a refresh may start now. If so, no other one starts for d.
func (it *Entry) StartTry(now int64, d time.Duration) bool {
	next := it.nextTry.Load()
	return !it.Pauses(now) && it.nextTry.CompareAndSwap(next, it.moment(after(now, d)))
}

// LoadFailed notes that a load of the entry's key failed now. For d the entry is served without another
// load, as long as it may be served in place of a failed load.
func (it *Entry) LoadFailed(now int64, d time.Duration) {
	next := it.moment(after(now, d))
	if d > 0 {
		next |= marked
	}
	it.nextTry.Store(next)
}

// FailedLately reports whether a load failed a moment ago. A pause without that mark only means that a
// refresh runs. While that refresh may still succeed, no value past Stale takes its place.
func (it *Entry) FailedLately(now int64) bool {
	return it.nextTry.Load()&marked != 0 && it.Pauses(now)
}

// Due decides at random whether to refresh a fresh entry early (XFetch).
func (it *Entry) Due(now int64, p *policy.Policy) bool {
	return p.RefreshAhead > 0 && it.softUntil() != Never && it.Err == nil &&
		lifetimes.RefreshDue(time.Duration(it.softUntil()-now), it.LoadTime.Duration(), p.RefreshAhead, 1-rand.Float64())
}
