package cache

import "time"

// Result is a value with its source, age and state.
type Result[V any] struct {
	Value    V             // the zero value if there is an error
	Source   Source        // where it was found
	Age      time.Duration // since the value's load began
	Stale    bool          // served although not fresh
	Negative bool          // the error is an absence, of now or remembered, or a remembered load error
}

// Source says which tier gave a value, or that the loader did.
type Source uint8

// The sources of a value. The zero Source means that the call failed.
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
	revalidating             // within Stale, while a refresh runs
	failedLoad               // within StaleIfError, after a failed load
	softTimeout              // the load takes longer than SoftTimeout
)

// value returns an entry's value, or a copy if the Config has Clone.
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
