package cache

import (
	"iter"
	"runtime/debug"
	"time"

	"github.com/twofold-go/twofold/tier"
)

// Entry is one entry of the local tier: a value or a remembered absence or error.
// [TiersConfig].OnStored and OnRemoved get the same Entry, so == tells two entries of one key
// apart. All methods may be called concurrently, also after the entry has left the tier. An
// Entry keeps its value in memory.
type Entry interface {
	// Key returns the full key, "tenant:namespace:id". Each call spells it again.
	Key() string

	// Tags yields the hash and the text of each tag. The text is "tenant:tag". It is empty for a
	// tag of a value from the remote tier, which keeps only the hash, and for invalidate.AnyTag.
	// The keys of the values that it was built from are not among the tags.
	Tags() iter.Seq2[uint64, string]

	// Alive reports whether the entry may still be served, perhaps as a stale value. That means:
	// no invalidation covers it, its time is not over, and the Tiers are open.
	Alive() bool

	// Age returns the time since the load of the value began, in any process. The clock of
	// another process may be ahead; the age is never negative.
	Age() time.Duration

	// Stale reports whether the entry's freshness is over, by time or by Expire. An entry that
	// is not alive is also stale.
	Stale() bool
}

// stored gives the hook an item that is about to become visible.
func (t *Tiers) stored(e Entry) {
	if t.cfg.OnStored == nil {
		return
	}
	defer t.survive("OnStored")
	t.cfg.OnStored(e)
}

// evicted gets each item that has left the local tier. The tier calls it.
func (t *Tiers) evicted(e tier.Entry, cost int64, reason tier.EvictReason) {
	n, ok := e.(*entry)
	if !ok {
		return
	}
	if reason == tier.Evicted || reason == tier.Rejected {
		c := n.view.counts
		c.inc(evictions)
		c.n[evictedBytes].Add(cost)
	}
	if t.cfg.OnRemoved == nil {
		return
	}
	defer t.survive("OnRemoved")
	t.cfg.OnRemoved(n, reason)
}

// survive is deferred around a hook. The hook's panic must not reach the call that stored
// something or made room.
func (t *Tiers) survive(hook string) {
	if recover() != nil { // the panic's value may be a key
		t.panicked.Do(func() {
			t.log.Error("cache: a hook panicked; further panics of hooks are not logged", "hook", hook, "stack", string(debug.Stack()))
		})
	}
}

// Key implements Entry.
func (it *entry) Key() string { return it.FullKey() }

// Tags implements Entry.
func (d *rare) Tags() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for i, hash := range d.Deps.Tags {
			if !yield(hash, d.textOf(i)) {
				return
			}
		}
	}
}

// Alive implements Entry.
func (it *entry) Alive() bool {
	t := it.view.t
	// The fences first: they may report an Expire, which changes the times.
	return !t.work.Closed() && it.unfenced(t, it) && it.freshness(t.now()) != dead
}

// Age implements Entry.
func (it *entry) Age() time.Duration {
	return time.Duration(max(it.view.t.now()-it.loadedAt, 0))
}

// Stale implements Entry.
func (it *entry) Stale() bool {
	t := it.view.t
	return t.work.Closed() || !it.unfenced(t, it) || it.freshness(t.now()) < untrusted
}
