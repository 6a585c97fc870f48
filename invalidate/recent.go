package invalidate

import "sync"

// maxRecent is how many key fences are remembered exactly, at least: what falls out is
// judged by its bucket of the key clock alone.
const maxRecent = 1 << 16

const (
	recentShards = 16
	// A shard has room for an eighth more than its share. Keys are spread by their hashes;
	// that one shard gets so many more of maxRecent than others is eight standard
	// deviations away.
	maxShard = maxRecent / recentShards * 9 / 8
)

// keyFence is the newest fence of one key.
type keyFence struct {
	tick uint64
	pos  Position
}

// recentKeys is the exact table of the newest key fences. It is divided, so that those
// who write seldom wait for each other, or for those who look: all methods may be called
// concurrently. The zero value is empty.
type recentKeys struct {
	shards [recentShards]recentShard
}

type recentShard struct {
	mu      sync.Mutex // protects the rest
	m       map[uint64]keyFence
	ring    []uint64 // their hashes in order of age, from head
	head    int      // oldest in ring
	evicted uint64   // tick of the newest fence that fell out
	_       [64 - 56]byte
}

// of returns the shard of a hash. The low bits tell buckets and groups apart.
func (r *recentKeys) of(hash uint64) *recentShard { return &r.shards[hash>>48%recentShards] }

// put notes a fence. A key that is fenced again keeps its place in the ring: it
// may fall out early, and is then judged by its bucket, which errs on the side
// of a reload.
func (r *recentKeys) put(hash uint64, f keyFence) {
	s := r.of(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	old, known := s.m[hash]
	if !known {
		s.makeRoom(hash)
	}
	s.m[hash] = keyFence{tick: max(f.tick, old.tick), pos: max(f.pos, old.pos)}
}

func (s *recentShard) makeRoom(hash uint64) {
	if s.m == nil {
		s.m = make(map[uint64]keyFence)
	}
	if len(s.ring) < maxShard {
		s.ring = append(s.ring, hash)
		return
	}
	old := s.ring[s.head]
	s.evicted = max(s.evicted, s.m[old].tick)
	delete(s.m, old)
	s.ring[s.head] = hash
	s.head = (s.head + 1) % maxShard
}

// position returns the position of the key's newest fence; 0: none, or not known.
func (r *recentKeys) position(hash uint64) Position {
	s := r.of(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[hash].pos
}

// covers reports whether the key was fenced after tick; bucket is the key's in
// the key clock. A key unknown to the table may have fallen out of it, so
// nothing older than the newest loss is believed unless its bucket vouches for
// it.
func (r *recentKeys) covers(hash, tick, bucket uint64) bool {
	s := r.of(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.m[hash]; ok {
		return k.tick > tick
	}
	return s.evicted > tick && bucket > tick
}
