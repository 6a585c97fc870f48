// Package flight merges concurrent work on one key into one call.
//
// It differs from golang.org/x/sync/singleflight in who may leave and who may
// join. Every participant waits under its own context, and the work is
// abandoned when the last one has left. And a newcomer may refuse to join: a
// call that began before something the newcomer must not miss is left to those
// who asked earlier, and a new one takes its place.
//
// The package starts no goroutine. The leader is told that it leads and does
// the work wherever it likes; whoever does it ends the call with Finish.
package flight

import (
	"sync"
	"sync/atomic"
)

const shards = 32

// Group holds the calls under way. Make one with [NewGroup]. K identifies the
// work, M is what a newcomer judges a call by, R is what a call ends with. All
// methods may be called concurrently.
type Group[K comparable, M, R any] struct {
	limit  int64
	count  atomic.Int64
	shards [shards]shard[K, M, R]
}

type shard[K comparable, M, R any] struct {
	mu    sync.Mutex
	calls map[K]*Call[K, M, R]
	_     [40]byte // a shard's lock stays on a cache line of its own
}

// NewGroup returns a group of at most limit calls at a time; no limit when it
// is zero or less.
func NewGroup[K comparable, M, R any](limit int) *Group[K, M, R] {
	g := &Group[K, M, R]{limit: int64(limit)}
	for i := range g.shards {
		g.shards[i].calls = make(map[K]*Call[K, M, R])
	}
	return g
}

// Call is one piece of work under way or done.
type Call[K comparable, M, R any] struct {
	// Meta is what the leader passed to Join. It does not change.
	Meta M

	group *Group[K, M, R]
	shard *shard[K, M, R]
	key   K
	res   R // written once before done is closed

	// The rest is protected by shard.mu.
	done      chan struct{} // made when somebody asks for it: a leader often needs none
	waiters   int
	pinned    bool
	finished  bool
	abandoned bool
	abandon   Canceler
}

// Join returns the call for key, and whether the caller leads it. An existing
// call is joined when ok(its Meta) is true; otherwise, and when there is none,
// a new one that carries meta takes its place. The hash spreads keys over
// locks. A nil Call means that the group is full.
//
// The new call is made in own, which must be zero and belongs to the call from
// then on; in memory of its own when own is nil.
//
// Each successful Join is paired with one [Call.Leave], after which the
// participant must not use the call.
func (g *Group[K, M, R]) Join(own *Call[K, M, R], hash uint64, key K, meta M, ok func(M) bool) (c *Call[K, M, R], leader bool) {
	s := &g.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[key]; c != nil && ok(c.Meta) {
		c.waiters++
		return c, false
	}
	if n := g.count.Add(1); g.limit > 0 && n > g.limit {
		g.count.Add(-1)
		return nil, false
	}
	if c = own; c == nil {
		c = new(Call[K, M, R])
	}
	c.Meta, c.group, c.shard, c.key, c.waiters = meta, g, s, key, 1
	s.calls[key] = c
	return c, true
}

// Len returns the number of calls under way.
func (g *Group[K, M, R]) Len() int { return int(g.count.Load()) }

// Done is closed when the call has ended.
func (c *Call[K, M, R]) Done() <-chan struct{} {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	if c.done == nil {
		c.done = make(chan struct{})
		if c.finished {
			close(c.done)
		}
	}
	return c.done
}

// Result returns what the call ended with, for all its participants to read. Call it
// only after Done is closed.
func (c *Call[K, M, R]) Result() *R { return &c.res }

// Leave ends the caller's part in the call. When nobody is left and the call
// is neither finished nor pinned, nobody can join it any more and what was
// given to OnAbandon is cancelled.
func (c *Call[K, M, R]) Leave() {
	c.shard.mu.Lock()
	c.waiters--
	c.release()
}

// release unlocks shard.mu, abandoning the call first if it is due.
func (c *Call[K, M, R]) release() {
	var f Canceler
	if c.waiters == 0 && !c.pinned && !c.finished && !c.abandoned {
		c.abandoned = true
		c.forget()
		f = c.abandon
	}
	c.shard.mu.Unlock()
	if f != nil {
		f.Cancel()
	}
}

// Canceler is what works on a call. It is no function, because making one of a method
// allocates.
type Canceler interface{ Cancel() }

// CancelFunc is a function as a [Canceler].
type CancelFunc func()

// Cancel calls f.
func (f CancelFunc) Cancel() { f() }

// OnAbandon sets what to cancel when the last participant leaves an unfinished
// call, and cancels it at once if that has happened already.
func (c *Call[K, M, R]) OnAbandon(f Canceler) {
	c.shard.mu.Lock()
	c.abandon = f
	gone := c.abandoned
	c.shard.mu.Unlock()
	if gone {
		f.Cancel()
	}
}

// Pin keeps the call going when nobody waits for it.
func (c *Call[K, M, R]) Pin() {
	c.shard.mu.Lock()
	c.pinned = true
	c.shard.mu.Unlock()
}

// Wanted reports whether a result is still of use: the call has not ended, and a
// participant waits for it or the call is pinned.
func (c *Call[K, M, R]) Wanted() bool {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	return !c.finished && !c.abandoned && (c.waiters > 0 || c.pinned)
}

// Finish ends the call with r and wakes everybody. Only the first Finish
// counts; it reports true.
func (c *Call[K, M, R]) Finish(r R) bool {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	if c.finished {
		return false
	}
	c.finished = true
	c.res = r
	c.forget()
	if c.done != nil {
		close(c.done)
	}
	c.group.count.Add(-1)
	return true
}

// forget takes the call out of the table, unless another has its place.
func (c *Call[K, M, R]) forget() {
	if c.shard.calls[c.key] == c {
		delete(c.shard.calls, c.key)
	}
}
