package cache

import (
	"time"

	"github.com/twofold-go/twofold/internal/engine"
	"github.com/twofold-go/twofold/internal/resident"
)

// Result is a value with its source, age and state.
type Result[V any] struct {
	Value    V             // the zero value if there is an error
	Source   Source        // where it was found
	Age      time.Duration // since the value's load began
	Stale    bool          // served although not fresh
	Negative bool          // the error is an absence, new or remembered, or a remembered load error

	// FreshFor is how much longer the value is fresh, or the absence or error is remembered: the max-age of
	// Cache-Control. An invalidation or an Expire may end it earlier. It is [policy.Forever] if it has no end.
	//
	// It is zero if Stale is set. It is also zero for a new value that the cache refused to store, because the
	// next read loads again: after NoStore, with Off, below MinLoad, above MaxValueBytes, or if an invalidation
	// overtook the load.
	//
	// RefreshAhead does not count. LocalTTL counts only in a cache without a remote tier. Otherwise it says when to
	// ask the remote tier, and the value stays fresh.
	FreshFor time.Duration
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

// value returns an entry's value, or a copy if the Config has Clone.
func (c Cache[K, V]) value(e *resident.Entry) V { return c.valueOf(itemOf[K, V](e)) }

func (c Cache[K, V]) valueOf(it *item[K, V]) V {
	if c.s.cfg.Clone != nil && (it.e.Plain || it.e.Err == nil) {
		return c.s.cfg.Clone(it.val)
	}
	return it.val
}

func (c Cache[K, V]) result(r *engine.Answer) Result[V] {
	if r.It == nil {
		return Result[V]{}
	}
	return Result[V]{
		Value:    c.value(r.It),
		Source:   Source(r.Src),
		Age:      r.Age(),
		Stale:    r.Stale,
		Negative: r.It.Err != nil,
		FreshFor: r.FreshFor(),
	}
}
