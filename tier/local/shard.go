package local

import (
	"sync"
	"sync/atomic"

	"github.com/twofold-go/twofold/internal/localnode"
)

// shard owns the hashes whose mixed top bits are the shard's index.
type shard struct {
	table localnode.Table // begins with the readers' cache line

	mu     sync.Mutex // protects all below except hits, the table's writers and every node's place
	tier   *Tier
	window localnode.List
	main   localnode.List
	sketch sketch
	luck   uint64 // breaks ties
	aged   uint64 // hits that the sketch knows of
	cost   int64  // of the nodes in the table, as given to Set
	closed bool
	_      [localnode.CacheLine]byte

	hits  atomic.Uint64 // of samples, for the climb
	early atomic.Uint64 // the part of hits that found the entry in the window
	_     [localnode.CacheLine]byte
}

// set enters n until end, and makes room for it: first by removing entries that have ended. Have is room that the caller already holds. When set is
// done, or the tier is closed, it returns unused room to the budget. When the shard cannot make
// enough room, set is not done. Then it leaves the room in have if the caller held some before,
// and otherwise returns it to the budget.
func (s *shard) set(n *node, end localnode.Tick, mixed uint64, out *departures, have *int64) (ok, done bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, swept := *have > 0, !s.tier.ends.Known()
	for !s.closed {
		old := s.table.Load(n.Hash)
		need := chargeOf(n)
		if old != nil {
			need -= chargeOf(old)
		}
		*have += s.tier.take(need - *have)
		if *have >= need {
			s.enter(n, old, end, mixed, out)
			s.giveBack(have, need)
			return true, true
		}
		if !swept {
			swept = true
			s.expireSome(out, have)
			continue
		}
		if !s.evict(need-*have, out, have) {
			if !kept {
				s.giveBack(have, 0)
			}
			return false, false
		}
	}
	s.giveBack(have, 0)
	return false, true
}

// giveBack returns the room that is not used to the budget.
func (s *shard) giveBack(have *int64, used int64) {
	if *have != used {
		s.tier.total.Add(used - *have)
	}
	*have = 0
}

// give evicts an entry, if the shard has one.
func (s *shard) give(out *departures, have *int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evict(0, out, have)
}

// enter puts n into the table, in place of old if there is one. The new node keeps the rank of
// old, because an entry that is replaced was usually hit a moment ago.
func (s *shard) enter(n, old *node, end localnode.Tick, mixed uint64, out *departures) {
	s.table.Put(n, end)
	s.cost += n.Cost()
	if old != nil {
		s.cost -= old.Cost()
		n.Seen.Store(old.Seen.Load())
		n.Place = old.Place
		s.unlink(old)
		out.add(old, replaced)
	} else {
		n.Place = inWindow
		s.sketch.grow(s.table.Len())
		s.sketch.add(mixed)
		s.ageByHits()
		if s.tier.isSample(mixed) {
			s.tier.climb.misses.Add(1)
		}
	}
	s.link(n)
	for i := 0; i < maxMoves && s.isOver(0); i++ {
		s.admit(s.window.Tail)
	}
}

// ageByHits counts the hits since the last call, by the samples of the climb, as uses of the sketch.
func (s *shard) ageByHits() {
	if hits := s.hits.Load(); hits != s.aged {
		s.sketch.age(int(hits-s.aged) * min(len(s.tier.shards), maxSampling)) //nolint:gosec // few
		s.aged = hits
	}
}

func (s *shard) remove(hash uint64, why localnode.Place, out *departures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.table.Load(hash); n != nil {
		s.drop(n, why, out)
		s.tier.total.Add(-chargeOf(n))
	}
}

// expireSome removes entries that have ended, and adds their charge to have.
func (s *shard) expireSome(out *departures, have *int64) {
	now, removed := s.tier.ends.Now(), 0
	s.table.Sweep(now, localnode.SweepCells, func(n *node) (localnode.Tick, bool) {
		end := s.expire(n, now, out, have)
		removed++
		return end, removed < localnode.MaxExpired
	})
}

// expire removes n and adds its charge to have, if n has ended. Otherwise it returns the end.
func (s *shard) expire(n *node, now localnode.Tick, out *departures, have *int64) localnode.Tick {
	end := s.tier.ends.Of(n.Entry())
	if end == 0 || end > now {
		return end
	}
	s.evictOne(n, expired, out, have)
	return 0
}

// drop removes n from the tier. The caller gets its charge.
func (s *shard) drop(n *node, why localnode.Place, out *departures) {
	s.unlink(n)
	s.table.Remove(n.Hash)
	s.cost -= n.Cost()
	out.add(n, why)
}

// link puts n into the queue of its place.
func (s *shard) link(n *node) {
	if n.Place == inMain {
		s.main.PushNewest(n)
		return
	}
	s.window.PushNewest(n)
	s.tier.window.Add(chargeOf(n))
}

func (s *shard) unlink(n *node) {
	if n.Place == inMain {
		s.main.Unlink(n)
		return
	}
	s.window.Unlink(n)
	s.tier.window.Add(-chargeOf(n))
}

func (s *shard) usage() (bytes, entries int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cost, int64(s.table.Len())
}

// close removes everything and refuses new entries.
func (s *shard) close(out *departures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n := range s.table.All() {
		s.tier.total.Add(-chargeOf(n))
		out.add(n, closed)
	}
	s.table.Reset()
	s.window, s.main, s.cost, s.closed = localnode.List{}, localnode.List{}, 0, true
}
