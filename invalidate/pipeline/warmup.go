package pipeline

import (
	"context"
	"slices"
)

// Warmup is one run of a warm-up. Config.Warm is called with it, loads what it
// names, and stores it, in one of two ways:
//
//   - through a cache that refuses a value whose load began before an
//     invalidation of it, as package cache does: nothing more is needed.
//   - anywhere else, by Commit.
//
// So nothing is stored that is older than an invalidation. The context ends when
// there is no more use in going on; the cause is [ErrOvertaken] when an
// invalidation made the run useless. It is repeated then, if it is still wanted.
//
// A Warmup that a test makes, with a name, is never overtaken.
type Warmup struct {
	Name  string // the one that the events ask for
	Epoch uint64 // events up to it had been applied when the run began; what it loads shows them

	ctx     context.Context
	cancel  context.CancelCauseFunc
	storing chan struct{} // holds one: a lock that can be waited for until a context ends
	warmer  *warmer
	task    *task

	// warmer.mu protects the rest.
	claims    []string            // what Commit said it stores is made of
	missed    map[string]struct{} // entities invalidated during the run by batches that did not overtake it
	missedAll bool                // more than are kept
}

// maxMissed is how many entities a run keeps to compare what it stores with.
const maxMissed = 4096

// Commit calls store, unless what is to be stored may be older than an
// invalidation: then it returns [ErrOvertaken], and the run is repeated if it is
// still wanted. When the run's context has ended otherwise, it returns why.
//
// The entities are what is stored is made of. Those that were invalidated by the
// events that asked for the warm-up are included: an event about the same
// subject, with one of those entities, or that asks for the same warm-up,
// overtakes the run in any case. Whoever cannot be sure that this covers all
// that was loaded names the entities, which it knows from the load.
//
// While store runs, invalidations of what is being stored wait for it: it must
// be quick, and neither publish nor consume.
func (w *Warmup) Commit(store func() error, entities ...string) error {
	if w.storing == nil {
		return store()
	}
	w.storing <- struct{}{}
	defer func() { <-w.storing }()
	if w.claim(entities) {
		w.cancel(ErrOvertaken) // which has it repeated
	}
	if w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	return store()
}

// claim notes the entities, so that a batch that invalidates one of them from
// here on waits for the store, and reports whether one did before.
func (w *Warmup) claim(entities []string) (late bool) {
	w.warmer.mu.Lock()
	defer w.warmer.mu.Unlock()
	w.claims = append(w.claims, entities...)
	return (w.missedAll && len(entities) > 0) || slices.ContainsFunc(entities, func(name string) bool {
		_, ok := w.missed[name]
		return ok
	})
}

// miss notes a batch that does not overtake the run by what is known of it.
func (w *Warmup) miss(r *reach) {
	if w.missedAll || len(w.missed)+len(r.entities) > maxMissed {
		w.missed, w.missedAll = nil, true
		return
	}
	if w.missed == nil {
		w.missed = make(map[string]struct{}, len(r.entities))
	}
	for name := range r.entities {
		w.missed[name] = struct{}{}
	}
}

// overtake makes the run store nothing from here on.
func (w *Warmup) overtake(ctx context.Context) error {
	w.cancel(ErrOvertaken)
	select {
	case w.storing <- struct{}{}:
		<-w.storing
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *Warmup) overtaken() bool {
	return context.Cause(w.ctx) == ErrOvertaken //nolint:errorlint // the very value, as set by cancel
}
