package cache

import (
	"math/rand/v2"
	"time"

	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/lifetimes"
	"github.com/twofold-go/twofold/policy"
)

// hit returns the entry of k if the fast path can serve it. A warm program is nearly always on
// this path: one hash, one look-up, one reading of the clock, the lease, and the fences. The
// order of the last two matters; see lease.go. A moment other than 0 replaces the clock. An
// entry that never expires needs no clock if there is no log. The lease is for values that are
// built from the entry. With an entry, the note says whether the hit must be reported. Without
// one, it says whether the slow path may still serve an entry.
func (c Cache[K, V]) hit(at uint64, k K, moment int64) (it *item[K, V], lease int64, n note) {
	t := c.s.t
	e, ok := t.local.Get(at)
	if !ok {
		return nil, 0, 0
	}
	it, ok = e.(*item[K, V])
	if !ok || it.key != k || !it.of(c.v) {
		return nil, 0, 0
	}
	lease = t.lease.Read() // before the fences
	now := moment
	if now == 0 && (it.quietUntil != never || t.bound != 0) {
		now = t.now()
	}
	reason := notStale
	if now >= it.quietUntil {
		if reason = it.rests(now); reason == notStale {
			return nil, 0, noted
		}
	}
	if c.v.policy().Off {
		return nil, 0, 0
	}
	if !t.lease.Covers(lease, now) && !t.vouches(lease, now, it.readAt()) {
		return nil, 0, noted
	}
	if it.clearAt.Load() != t.fences.Generation() {
		if !it.unfenced(t, it) {
			return nil, 0, 0
		}
		if it.ended.Load() != 0 { // its times have changed
			now = t.or(now)
			if reason = it.rests(now); reason == notStale {
				return nil, 0, noted
			}
		}
	}
	it.checkUnchanged()
	if nth := c.v.counts.hit(!it.plain && it.err != nil, reason); nth&t.notable.Load() == 0 {
		if n = noted; nth%sampled == 0 {
			if moment != 0 || now == 0 {
				now = t.now()
			}
			n = timed + note(now)
		}
	}
	if reason != notStale {
		t.seen.staleness(c.v.counts, now-it.freshUntil())
	}
	return it, lease, n
}

// unfenced reports whether no fence covers the item, whose key speller spells. It also notes the
// end of its freshness by an Expire; read that afterwards.
func (it *item[K, V]) unfenced(t *Tiers, speller follow.Keyed) bool {
	gen := t.fences.Generation() // before the check: a later fence is not part of it
	switch at := it.clearAt.Load(); {
	case at == covered:
		return false
	case at != expired && (at == gen || !t.fences.Since(at, it.low)):
		return true
	}
	tick, fresh, ok := t.fences.Clear(it.born.Load(), it.low, speller, it.tags)
	return it.judged(gen, tick, fresh, ok)
}

// rests returns why an item past its freshness is served without any other action: a refresh is
// running, or must not start yet. It returns notStale if some action is due.
func (it *item[K, V]) rests(now int64) staleReason {
	if now >= it.nextTry.Load() {
		return notStale
	}
	switch state := it.freshness(now); {
	case state == fresh || state == dead:
		return notStale
	case state == stale && it.trustUntil >= it.freshUntil():
		return revalidating
	case it.spared(now):
		return failedLoad
	}
	return notStale
}

// find returns the entry of k in whatever state, as long as it is vouched for and no fence
// covers it, and the time it was judged at: the moment, or without one the clock's.
func (c Cache[K, V]) find(at uint64, k K, moment int64) (it *item[K, V], now int64) {
	t := c.s.t
	if it = c.lookup(at, k); it == nil {
		return nil, moment
	}
	lease := t.lease.Read() // before the fences
	now = t.or(moment)
	if !t.vouches(lease, now, it.readAt()) || !it.unfenced(t, it) {
		return nil, now
	}
	return it, now
}

// lookup returns the entry of k without any check.
func (c Cache[K, V]) lookup(at uint64, k K) *item[K, V] {
	e, ok := c.s.t.local.Get(at)
	if !ok {
		return nil
	}
	it, ok := e.(*item[K, V])
	if !ok || it.key != k || !it.of(c.v) {
		return nil
	}
	return it
}

func (it *item[K, V]) of(v *view) bool { return it.view == v || it.view.space == v.space }

// old returns the entry to serve when the load fails or takes too long. It may have any age that
// its policy allows, but it is never invalidated.
func (c Cache[K, V]) old(at uint64, k K) *item[K, V] {
	it, now := c.find(at, k, 0)
	if it == nil || it.err != nil || it.freshness(now) == dead {
		return nil
	}
	return it
}

// clear reports whether the item is vouched for and no fence covers it now.
func (c Cache[K, V]) clear(it *item[K, V]) bool {
	t := c.s.t
	lease := t.lease.Read() // before the fences
	return t.vouches(lease, t.now(), it.readAt()) && it.unfenced(t, it)
}

// due decides at random whether to refresh a fresh item early (XFetch).
func (it *item[K, V]) due(now int64, p *policy.Policy) bool {
	return p.RefreshAhead > 0 && it.softUntil != never && it.err == nil &&
		lifetimes.RefreshDue(time.Duration(it.softUntil-now), it.loadTime, p.RefreshAhead, 1-rand.Float64())
}
