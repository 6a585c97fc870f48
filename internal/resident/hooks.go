package resident

import (
	"runtime/debug"
	"time"

	"github.com/twofold-go/twofold/internal/measure"
	"github.com/twofold-go/twofold/tier"
)

// stored gives the hook an entry that is about to become visible.
func (t *Core) stored(e *Entry) {
	if t.Config.OnStored == nil {
		return
	}
	defer t.guardHook("OnStored")()
	t.Config.OnStored(e)
}

// removed gets each entry that has left the local tier. The tier calls it.
func (t *Core) removed(e any, cost int64, reason tier.EvictReason) {
	n := In(e)
	if n == nil {
		return
	}
	n.Leave()
	if reason == tier.Evicted || reason == tier.Rejected {
		c := ViewOf(n).Counts
		c.Inc(measure.Evictions)
		c.Add(measure.EvictedBytes, cost)
	}
	if t.Config.OnRemoved == nil || reason == tier.Closed {
		return
	}
	defer t.guardHook("OnRemoved")()
	t.Config.OnRemoved(n, reason)
}

// hookPatience is how long a hook may run before a line says that it does not return.
const hookPatience = 10 * time.Second

// guardHook watches a hook that runs with locks held, until the returned function. A hook that calls the cache waits for those
// locks for ever.
func (t *Core) guardHook(hook string) (end func()) {
	timer := time.AfterFunc(hookPatience, func() {
		t.stuck.Do(func() {
			t.Log.Error("cache: a hook has not returned, and calls of the cache wait for it: it must not call the cache; give its work to another goroutine",
				"hook", hook, "after", hookPatience)
		})
	})
	return func() {
		timer.Stop()
		if p := recover(); p != nil {
			t.hookPanicked(hook)
		}
	}
}

// Survive is deferred around a hook. The hook's panic must not reach the call that stored
// something or made room.
func (t *Core) Survive(hook string) {
	if recover() != nil {
		t.hookPanicked(hook)
	}
}

// hookPanicked logs the first panic, without its value, which may be a key.
func (t *Core) hookPanicked(hook string) {
	t.panicked.Do(func() {
		t.Log.Error("cache: a hook panicked; further panics of hooks are not logged", "hook", hook, "stack", string(debug.Stack()))
	})
}
