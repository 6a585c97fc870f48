package ristretto

import "math"

// limits are the shares of MaxBytes, in bytes of charge.
type limits struct {
	hard     int64 // no entry enters beyond this
	frontMin int64
	frontMax int64
	main     int64 // ristretto's MaxCost
	entry    int64 // one entry's largest charge
	batch    int64 // how much may wait for ristretto before a drain
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

// frontLimit shrinks as the rest fills. A tier therefore uses its whole budget before it refuses
// anything, and is 20/80 when it is full.
func (t *Tier) frontLimit() int64 {
	main := t.total.Load() - t.front.Load()
	return max(t.limits.frontMin, t.limits.frontMax-main/2)
}

// reserve takes charge from the budget before a node enters the front. When the node does not
// fit, reserve makes room first. While it waits it has reserved nothing, so goroutines that wait
// here together cannot take the room that they wait for from each other. It returns false when
// the tier is closed.
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

// makeRoom empties the front by charge, and lets ristretto take or refuse the victims, until
// charge fits. It always fits when the front is at its limit minus charge, and ristretto at 80 %.
func (t *Tier) makeRoom(s *shard, charge int64) {
	t.main.mu.Lock()
	defer t.main.mu.Unlock()
	for t.total.Load()+charge > t.limits.hard && !t.closed.Load() {
		t.shrinkBy(s, charge)
		t.drainLocked(noReturns)
	}
}

func (t *Tier) shrink(s *shard) { t.shrinkBy(s, 0) }

// shrinkBy moves victims of the front to the queue until the front is spare bytes below its
// limit. It begins with the shard that grew, which keeps the shards in proportion. When that is not
// enough, because of large entries, it goes on with the other shards. The second round also takes
// a shard's only node. In the shard that grew, that node is the one that has just entered, so
// this shard comes last.
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

// shrinkShard reports whether the front is small enough.
func (t *Tier) shrinkShard(s *shard, keep int, spare int64) bool {
	if t.front.Load() <= t.frontLimit()-spare {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t.front.Load() > t.frontLimit()-spare {
		if s.front.Len <= keep {
			return false
		}
		n := s.front.evict(t.queue.count)
		n.Place = spilling
		t.queue.spill(n)
		t.front.Add(-chargeOf(n))
	}
	return true
}
