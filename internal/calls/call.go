package calls

import (
	"sync"
	"sync/atomic"
)

const shards = 32

// Group holds the calls under way. Make one with [NewGroup]. M describes the work; a newcomer
// decides by it whether to join a call. R is the result of a call. Calls are found by a hash of
// their key. The group does not know the key: a participant that joins compares it. All methods may
// be called concurrently.
type Group[M, R any] struct {
	limit  int64
	count  atomic.Int64
	shards [shards]shard[M, R]
}

type shard[M, R any] struct {
	mu    sync.Mutex
	calls map[uint64]*Call[M, R] // the latest call of each hash
	_     [40]byte               // keeps each shard's lock on its own cache line
}

// NewGroup returns a group of at most limit calls at a time. A limit of zero or less means no
// limit.
func NewGroup[M, R any](limit int) *Group[M, R] {
	g := &Group[M, R]{limit: int64(limit)}
	for i := range g.shards {
		g.shards[i].calls = make(map[uint64]*Call[M, R])
	}
	return g
}

// Call is one piece of work, under way or done. It is embedded in the memory of its caller, so the
// group allocates nothing for it.
type Call[M, R any] struct {
	// Meta is set before Join and does not change.
	Meta M

	group *Group[M, R]
	shard *shard[M, R]
	hash  uint64
	res   R // written once before done is closed

	// shard.mu protects the rest.
	next, prev *Call[M, R]   // earlier (next) and later (prev) calls with the same hash
	done       chan struct{} // made on demand: a leader often needs none
	waiters    int
	pinned     bool
	finished   bool
	abandoned  bool
	abandon    Canceler
}

// Find joins the latest call of the hash whose Meta ok accepts. It returns nil if there is none
// among the latest 16 calls of the hash.
// Find and Join count a participant, which must call [Call.Leave] once and must not use the call
// afterwards. They call ok with a lock held.
func (g *Group[M, R]) Find(hash uint64, ok func(M) bool) *Call[M, R] {
	s := &g.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(hash, ok)
}

// examined is how many of a hash's calls a newcomer looks at. Calls gather when newcomers refuse to
// join, for example while a key is invalidated again and again during slow work. A newcomer refuses
// the older ones for the same reason, so it does not look at all of them.
const examined = 16

func (s *shard[M, R]) find(hash uint64, ok func(M) bool) *Call[M, R] {
	c := s.calls[hash]
	for i := 0; c != nil && i < examined; i++ {
		if ok(c.Meta) {
			c.waiters++
			return c
		}
		c = c.next
	}
	return nil
}

// Join joins a call as Find does. If there is none, own becomes the latest call of its hash, and
// the caller leads it. A nil Call means that the group is full.
func (g *Group[M, R]) Join(hash uint64, own *Call[M, R], ok func(M) bool) (c *Call[M, R], leader bool) {
	s := &g.shards[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.find(hash, ok); c != nil {
		return c, false
	}
	if n := g.count.Add(1); g.limit > 0 && n > g.limit {
		g.count.Add(-1)
		return nil, false
	}
	own.group, own.shard, own.hash, own.waiters = g, s, hash, 1
	if own.next = s.calls[hash]; own.next != nil {
		own.next.prev = own
	}
	s.calls[hash] = own
	return own, true
}

// Len returns the number of calls under way.
func (g *Group[M, R]) Len() int { return int(g.count.Load()) }

// Done is closed when the call has ended.
func (c *Call[M, R]) Done() <-chan struct{} {
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

// Ended returns the result of the call, for all its participants to read, or nil while the call is
// under way.
func (c *Call[M, R]) Ended() *R {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	if !c.finished {
		return nil
	}
	return &c.res
}

// Leave ends the caller's part in the call. If no participant is left and the call is neither
// finished nor pinned, no newcomer can join it, and the Canceler given to OnAbandon is cancelled.
func (c *Call[M, R]) Leave() {
	var f Canceler
	c.shard.mu.Lock()
	c.waiters--
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

// OnAbandon sets what to cancel when the last participant leaves an unfinished call. If that has
// already happened, OnAbandon cancels it immediately.
func (c *Call[M, R]) OnAbandon(f Canceler) {
	c.shard.mu.Lock()
	c.abandon = f
	gone := c.abandoned
	c.shard.mu.Unlock()
	if gone {
		f.Cancel()
	}
}

// Pin keeps the call alive without participants.
func (c *Call[M, R]) Pin() {
	c.shard.mu.Lock()
	c.pinned = true
	c.shard.mu.Unlock()
}

// Wanted reports whether a result is still useful: the call has not ended, and a participant waits
// for it or the call is pinned.
func (c *Call[M, R]) Wanted() bool {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	return !c.finished && !c.abandoned && (c.waiters > 0 || c.pinned)
}

// Finish ends the call with r and wakes all participants. Only the first Finish counts; it reports
// true.
func (c *Call[M, R]) Finish(r R) bool {
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	if c.finished {
		return false
	}
	c.finished = true
	c.res = r
	if !c.abandoned {
		c.forget()
	}
	if c.done != nil {
		close(c.done)
	}
	c.group.count.Add(-1)
	return true
}

// forget removes the call from the table.
func (c *Call[M, R]) forget() {
	if c.next != nil {
		c.next.prev = c.prev
	}
	switch {
	case c.prev != nil:
		c.prev.next = c.next
	case c.next != nil:
		c.shard.calls[c.hash] = c.next
	default:
		delete(c.shard.calls, c.hash)
	}
	c.next, c.prev = nil, nil
}
