package fence

import (
	"sync"
	"sync/atomic"
)

// announced is newer than every mark.
const announced = 1<<64 - 1

// Node is something that can end entries, besides their own key and their namespace: a tag, the key of a
// part. Entries that depend on the same thing share its node, and count as its references.
type Node struct {
	hard atomic.Uint64 // tick of the last invalidation, or announced; 0: none since the node was made
	soft atomic.Uint64 // ... of the last Expire
	at   atomic.Int64  // when the last Expire was applied
	id   uint64        // never changes
	refs atomic.Int32  // raised only under the shard's lock
	idle atomic.Bool   // it is in the shard's list of idle nodes
}

// set notes the tick of an invalidation, or of an Expire that was applied at a time.
func (n *Node) set(tick uint64, isSoft bool, at int64) {
	if isSoft {
		n.at.Store(at) // first: who sees the tick reads it
		n.soft.Store(tick)
	} else {
		n.hard.Store(tick)
	}
}

// Since reports whether an invalidation came after the tick mark, or an Expire after the tick seen.
func (n *Node) Since(mark, seen uint64) bool { return n.hard.Load() > mark || n.soft.Load() > seen }

// table finds nodes by id: open addressing with linear probing. A slot is a pointer, because the node
// knows its id. That takes 13 bytes for each node, a map takes 38.
type table struct {
	slots []*Node
	used  int
}

func (t *table) home(id uint64) int {
	return int(id * 0x9e3779b97f4a7c15 >> 20 % uint64(len(t.slots))) //nolint:gosec // fits
}

// at returns the slot of an id, or the empty one where it belongs.
func (t *table) at(id uint64) int {
	i := t.home(id)
	for t.slots[i] != nil && t.slots[i].id != id {
		i = (i + 1) % len(t.slots)
	}
	return i
}

func (t *table) get(id uint64) *Node {
	if t.used == 0 {
		return nil
	}
	return t.slots[t.at(id)]
}

func (t *table) add(n *Node) {
	if t.used++; t.used*8 > len(t.slots)*7 {
		old := t.slots
		t.slots = make([]*Node, len(old)*3/2+8)
		for _, o := range old {
			if o != nil {
				t.slots[t.at(o.id)] = o
			}
		}
	}
	t.slots[t.at(n.id)] = n
}

// remove moves later nodes back, so that no tombstone remains.
func (t *table) remove(id uint64) {
	size := len(t.slots)
	i := t.at(id)
	t.used--
	for j := i; ; {
		t.slots[i] = nil
		for {
			if j = (j + 1) % size; t.slots[j] == nil {
				return
			}
			if k := t.home(t.slots[j].id); (j-k+size)%size >= (j-i+size)%size {
				break
			}
		}
		t.slots[i], i = t.slots[j], j
	}
}

// shard has the nodes of some scopes, and the history of their last invalidations. What is in flight is
// compared with the history: loads by tick, frames by position.
type shard struct {
	// mu protects nodes and the histories. An invalidation holds it from the look-up of the node until
	// the note in the history. So a node can neither be made nor leave meanwhile.
	mu    sync.Mutex
	nodes table
	hard  [kinds]history
	soft  history // of all kinds

	idle struct { // a leaf among the locks: the local tier's hook may hold those of the tier
		sync.Mutex
		list []*Node // whose count fell to zero
	}
}

// take returns the node of a scope, for one more entry. mu is held.
func (s *shard) take(id uint64) *Node {
	n := s.nodes.get(id)
	if n == nil {
		s.sweep()
		n = &Node{id: id}
		s.nodes.add(n)
	}
	n.refs.Add(1)
	return n
}

// drop is called once for each time that the node was taken. It takes no lock that take holds for long.
func (s *shard) drop(n *Node) {
	if n.refs.Add(-1) == 0 && n.idle.CompareAndSwap(false, true) {
		s.idle.Lock()
		defer s.idle.Unlock()
		s.idle.list = append(s.idle.list, n)
	}
}

// sweep removes the nodes that no entry has. mu is held. The order matters: a drop after idle became
// false puts the node in the list again.
func (s *shard) sweep() {
	s.idle.Lock()
	list := s.idle.list
	s.idle.list = nil
	s.idle.Unlock()
	for _, n := range list {
		n.idle.Store(false)
		if n.refs.Load() == 0 && s.nodes.get(n.id) == n {
			s.nodes.remove(n.id)
		}
	}
}
