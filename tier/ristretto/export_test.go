package ristretto

// Charged returns what counts against MaxBytes: costs and Overhead of every
// entry, and of those about to be visible.
func (t *Tier) Charged() (total, front int64) { return t.total.Load(), t.front.Load() }

// Drain passes the queue to ristretto, however short it is.
func (t *Tier) Drain() {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	t.drainLocked(halfReturns)
}

// AtHandover sets the hook that runs when ristretto has answered a drain and
// nothing of it was acted on.
func (t *Tier) AtHandover(f func()) {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	t.main.atHandover = f
}

// SpillAll empties the front into the queue.
func (t *Tier) SpillAll() { t.shrinkBy(&t.shards[0], 1<<62) }

// InMain reports whether ristretto holds a node of hash, dead or alive, and
// which entry it is. No drain may run beside it.
func (t *Tier) InMain(hash uint64) (any, bool) {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	n, ok := t.main.lfu.Get(hash)
	if !ok {
		return nil, false
	}
	return n.Entry, true
}

// Shards returns the number of shards.
func (t *Tier) Shards() int { return len(t.shards) }

// Sieve is the hand's list alone.
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

// Evict returns the hand's choice.
func (s *Sieve) Evict() uint64 { return s.list.evict(func(uint64) {}).Hash }
