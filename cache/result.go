package cache

import "time"

// Result is a value with what is known about it.
type Result[V any] struct {
	Value    V             // the zero value with an error
	Source   Source        // where it was found
	Age      time.Duration // since the value's load began
	Stale    bool          // served although it is not fresh
	Negative bool          // the error is a remembered absence or load error
}

// Source says where a value came from.
type Source uint8

// The sources of a value. The zero Source is none: the call failed.
const (
	Local  Source = iota + 1 // this process's tier
	Remote                   // the shared tier
	Load                     // the loader
)

// String returns "local", "remote", "load", or "none".
func (s Source) String() string {
	if s > Load {
		s = 0
	}
	return [...]string{"none", "local", "remote", "load"}[s]
}

// staleReason says why a stale value was served.
type staleReason uint8

const (
	notStale     staleReason = iota
	revalidating             // within Stale, a refresh runs
	failedLoad               // within StaleIfError, the load failed
	softTimeout              // the load takes longer than SoftTimeout
)

// value hands out an entry's value.
func (c Cache[K, V]) value(it *item[K, V]) V {
	if c.s.cfg.Clone != nil && (it.plain || it.err == nil) {
		return c.s.cfg.Clone(it.val)
	}
	return it.val
}

func (c Cache[K, V]) result(it *item[K, V], src Source, reason staleReason, now int64) Result[V] {
	return Result[V]{
		Value:    c.value(it),
		Source:   src,
		Age:      max(time.Duration(now-it.loadedAt), 0),
		Stale:    reason != notStale,
		Negative: it.err != nil,
	}
}
