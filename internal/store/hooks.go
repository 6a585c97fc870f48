package store

import (
	"runtime/debug"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/tier"
)

// stored gives the hook an entry that is about to become visible.
func (t *Core) stored(e *entry.Entry) {
	if t.Config.OnStored == nil {
		return
	}
	defer t.Survive("OnStored")
	t.Config.OnStored(e)
}

// evicted gets each entry that has left the local tier. The tier calls it.
func (t *Core) evicted(e any, cost int64, reason tier.EvictReason) {
	n := entry.In(e)
	if n == nil {
		return
	}
	if reason == tier.Evicted || reason == tier.Rejected {
		c := ViewOf(n).Counts
		c.Inc(measure.Evictions)
		c.Add(measure.EvictedBytes, cost)
	}
	if t.Config.OnRemoved == nil {
		return
	}
	defer t.Survive("OnRemoved")
	t.Config.OnRemoved(n, reason)
}

// Survive is deferred around a hook. The hook's panic must not reach the call that stored
// something or made room.
func (t *Core) Survive(hook string) {
	if recover() != nil { // the panic's value may be a key
		t.panicked.Do(func() {
			t.Log.Error("cache: a hook panicked; further panics of hooks are not logged", "hook", hook, "stack", string(debug.Stack()))
		})
	}
}
