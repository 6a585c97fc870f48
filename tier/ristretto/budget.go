package ristretto

import "math"

// limits are the shares of MaxBytes, in bytes of charge.
type limits struct {
	hard     int64 // no entry enters beyond this
	frontMin int64
	frontMax int64
	main     int64 // ristretto's MaxCost
	entry    int64 // one entry's largest charge
	batch    int64 // what waits for ristretto before it is drained
	counters int64 // of ristretto's sketch
}

func limitsOf(maxBytes int64) limits {
	percent := maxBytes / 100
	return limits{
		hard:     maxBytes + min(4*percent, math.MaxInt64-maxBytes),
		frontMin: maxBytes / 5,
		frontMax: maxBytes / 5 * 3,
		main:     maxBytes / 5 * 4,
		entry:    maxBytes / 5,
		batch:    percent,
		counters: min(max(maxBytes/64, 4<<10), 8<<20),
	}
}

// frontLimit shrinks as the rest fills, so that a tier uses its whole budget
// before it refuses anything and is 20/80 when it is full.
func (t *Tier) frontLimit() int64 {
	main := t.total.Load() - t.front.Load()
	return max(t.limits.frontMin, t.limits.frontMax-main/2)
}

// reserve takes charge from the budget for a node about to enter the front, and
// makes room first when it would not fit. Nothing is reserved while it waits,
// so goroutines that wait here together can not starve each other of the very
// room they wait for. It reports false when the tier is closed.
func (t *Tier) reserve(s *shard, charge int64) bool {
	for !t.closed.Load() {
		total := t.total.Load()
		if total+charge > t.limits.hard {
			t.makeRoom(s, charge)
			continue
		}
		if t.total.CompareAndSwap(total, total+charge) {
			t.front.Add(charge)
			return true
		}
	}
	return false
}

// makeRoom empties the front by charge and has ristretto take or refuse what
// comes out, until charge fits. With the front at its limit less charge, and
// ristretto at 80 %, it does.
func (t *Tier) makeRoom(s *shard, charge int64) {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	for t.total.Load()+charge > t.limits.hard && !t.closed.Load() {
		t.shrinkBy(s, charge)
		t.drainLocked(noReturns)
	}
}

func (t *Tier) shrink(s *shard) { t.shrinkBy(s, 0) }

// shrinkBy moves victims of the front to the queue until the front is spare
// bytes below its limit. It begins with the shard that grew, so that shards
// stay in proportion, and goes round the others when large entries leave that
// one too short. The second round takes a shard's only node too; in the shard
// that grew that is the node that has just entered, so it comes last.
func (t *Tier) shrinkBy(s *shard, spare int64) {
	if t.shrinkShard(s, 1, spare) {
		return
	}
	for keep := 1; keep >= 0; keep-- {
		for i := range t.shards {
			if o := &t.shards[i]; o != s && t.shrinkShard(o, keep, spare) {
				return
			}
		}
	}
	t.shrinkShard(s, 0, spare)
}

// shrinkShard reports whether the front is as small as it has to be.
func (t *Tier) shrinkShard(s *shard, keep int, spare int64) bool {
	if t.front.Load() <= t.frontLimit()-spare {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t.front.Load() > t.frontLimit()-spare {
		if s.front.len <= keep {
			return false
		}
		n := s.front.evict(t.queue.count)
		n.Place = spilling
		t.queue.spill(n)
		t.front.Add(-chargeOf(n))
	}
	return true
}
