package fence

import (
	"sync"

	"github.com/twofold-go/twofold/invalidate"
)

const (
	recentShards = 16
	// A shard owns this many adjacent buckets of the key clock.
	shardBuckets = clockBuckets / recentShards
)

// recentKeys is the exact table of the newest key fences. Because of its shards, writers seldom
// wait for each other or for readers.
type recentKeys struct {
	shards [recentShards]recentShard
}

type recentShard struct {
	// mu protects the rest, and the shard's buckets of the key clock. A key fence takes its tick
	// with mu held. So a goroutine that holds mu sees every fence of the shard's keys up to the
	// tick.
	mu             sync.Mutex
	memory[uint64] // fills the cache line
}

// of returns the shard of a hash. The low 32 bits are enough.
func (r *recentKeys) of(hash uint32) *recentShard {
	return &r.shards[hash&clockMask/shardBuckets]
}

// position returns the position of the key's newest fence; 0: none, or unknown.
func (r *recentKeys) position(hash uint64) invalidate.Position {
	s := r.of(uint32(hash)) //nolint:gosec // the low half is what is wanted
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(hash).pos
}

// check compares the key's newest fence with something marked at the tick born.
func (r *recentKeys) check(hash, born uint64) verdict {
	s := r.of(uint32(hash)) //nolint:gosec // the low half is what is wanted
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.memory.check(hash, born)
}

// known returns the position of the key's newest fence, and the highest one of a fence that was
// forgotten and may be the key's.
func (r *recentKeys) known(hash uint64) (pos, floor invalidate.Position) {
	s := r.of(uint32(hash)) //nolint:gosec // the low half is what is wanted
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.find(hash).pos, s.floor
}

// newest returns the highest tick and the highest position of all fences, also of forgotten ones.
func (r *recentKeys) newest() (f fenced) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		f = f.newest(s.memory.newest())
		s.mu.Unlock()
	}
	return f
}

func (r *recentKeys) len() (n int64) {
	for i := range r.shards {
		s := &r.shards[i]
		s.mu.Lock()
		n += int64(s.memory.len())
		s.mu.Unlock()
	}
	return n
}
