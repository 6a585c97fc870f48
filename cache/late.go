package cache

import (
	"context"
	"errors"
	"runtime/debug"
)

// late ends a flight whose load has run out of time, or of callers, and does not come
// back: a loader may ignore its context.
//
// It runs in a goroutine of its own, while the flight may go on. So it has a copy of the
// flight's job, made before the loader starts. What the flight writes later, it cannot
// reach.
type late[K comparable, V any] struct {
	job[K, V]
	part lead[K, V] // the copy's: what it takes to end the flight
}

// freeze makes the copy. The flight calls it, when its load has begun.
func (l *late[K, V]) freeze(j *job[K, V]) {
	l.job = *j
	l.part.call, l.part.refreshing, l.part.spare, l.part.span = j.call, j.refreshing, j.spare, j.span
	l.lead = &l.part
}

// late implements the hook of a detached context. Putting an old value back runs the
// user's Size and OnEvict. When they panic, the flight ends all the same.
func (l *late[K, V]) late(ctx context.Context) {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		l.call.Finish(outcome[K, V]{err: ctx.Err()})
		return
	}
	orderly := false
	defer func() {
		if orderly {
			return
		}
		if recover() != nil { // not its value: it may be what is cached
			l.t.log.Error("cache: Size or OnEvict panicked", "namespace", l.v.space.Namespace, "stack", string(debug.Stack()))
		}
		l.ended(outcome[K, V]{err: ctx.Err(), old: l.standIn()})
	}()
	l.failed(ctx.Err())
	orderly = true
}

// lates are the hook of a batch.
type lates[K comparable, V any] []late[K, V]

func freezeAll[K comparable, V any](jobs []*job[K, V]) lates[K, V] {
	all := make(lates[K, V], len(jobs))
	for i, j := range jobs {
		all[i].freeze(j)
	}
	return all
}

func (ls lates[K, V]) late(ctx context.Context) {
	for i := range ls {
		ls[i].late(ctx)
	}
}
