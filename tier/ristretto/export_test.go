package ristretto

// Charged returns the charge against MaxBytes: costs and Overhead of every entry, including those
// about to become visible.
func (t *Tier) Charged() (total, front int64) { return t.total.Load(), t.front.Load() }

// Drain passes the queue to ristretto, however short it is.
func (t *Tier) Drain() {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	t.drainLocked(halfReturns)
}

// AtHandover sets the hook that runs after ristretto has answered a drain and before the drainer
// acts on it.
func (t *Tier) AtHandover(f func()) {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	t.main.atHandover = f
}

// SpillAll empties the front into the queue.
func (t *Tier) SpillAll() { t.shrinkBy(&t.shards[0], 1<<62) }

// InMain reports whether ristretto holds a node of hash, dead or alive, and which entry it is. No
// drain may run at the same time.
func (t *Tier) InMain(hash uint64) (any, bool) {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	n, ok := t.main.lfu.Get(hash)
	if !ok {
		return nil, false
	}
	return n.Entry(), true
}

// Shards returns the number of shards.
func (t *Tier) Shards() int { return len(t.shards) }

// Sieve is one sieve without a tier.
type Sieve struct {
	list  sieve
	nodes map[uint64]*node
}

// Add pushes hash.
func (s *Sieve) Add(hash uint64) {
	if s.nodes == nil {
		s.nodes = map[uint64]*node{}
	}
	s.nodes[hash] = &node{Hash: hash}
	s.list.push(s.nodes[hash])
}

// Hit sets the bit of hash.
func (s *Sieve) Hit(hash uint64) { touch(s.nodes[hash]) }

// Remove unlinks hash.
func (s *Sieve) Remove(hash uint64) { s.list.unlink(s.nodes[hash]) }

// Evict returns the node that the hand chooses.
func (s *Sieve) Evict() uint64 { return s.list.evict(func(uint64) {}).Hash }
