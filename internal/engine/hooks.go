package engine

import (
	"iter"
	"runtime/debug"
	"time"

	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/tier"
)

// stored gives the hook an item that is about to become visible.
func (t *Core) stored(e *Entry) {
	if t.cfg.OnStored == nil {
		return
	}
	defer t.survive("OnStored")
	t.cfg.OnStored(e)
}

// evicted gets each item that has left the local tier. The tier calls it.
func (t *Core) evicted(e tier.Entry, cost int64, reason tier.EvictReason) {
	n := entryIn(e)
	if n == nil {
		return
	}
	if reason == tier.Evicted || reason == tier.Rejected {
		c := n.View.counts
		c.Inc(measure.Evictions)
		c.Add(measure.EvictedBytes, cost)
	}
	if t.cfg.OnRemoved == nil {
		return
	}
	defer t.survive("OnRemoved")
	t.cfg.OnRemoved(n, reason)
}

// survive is deferred around a hook. The hook's panic must not reach the call that stored
// something or made room.
func (t *Core) survive(hook string) {
	if recover() != nil { // the panic's value may be a key
		t.panicked.Do(func() {
			t.log.Error("cache: a hook panicked; further panics of hooks are not logged", "hook", hook, "stack", string(debug.Stack()))
		})
	}
}

// Key returns the full key.
func (it *Entry) Key() string { return it.FullKey() }

// Tags yields the hash and the text of each tag.
func (d *rare) Tags() iter.Seq2[uint64, string] {
	return func(yield func(uint64, string) bool) {
		for i, hash := range d.Deps.Tags {
			if !yield(hash, d.textOf(i)) {
				return
			}
		}
	}
}

// Alive reports whether the entry may still be served.
func (it *Entry) Alive() bool {
	t := it.View.t
	// The fences first: they may report an Expire, which changes the times.
	return !t.work.Closed() && it.unfenced(t) && it.freshness(t.now()) != dead
}

// Age returns the time since the load of the value began.
func (it *Entry) Age() time.Duration {
	return time.Duration(max(it.View.t.now()-it.loadedAt, 0))
}

// Stale reports whether the entry's freshness is over.
func (it *Entry) Stale() bool {
	t := it.View.t
	return t.work.Closed() || !it.unfenced(t) || it.freshness(t.now()) < untrusted
}
