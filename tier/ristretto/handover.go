package ristretto

import (
	"sync"

	engine "github.com/dgraph-io/ristretto/v2"

	"github.com/twofold-go/twofold/tier"
)

// How entries move from the front to ristretto and out again.
//
// # Mechanism
//
// The hand of a shard takes a victim from the front. The victim's place becomes spilling and it
// joins the queue; the table still finds it. When the queue holds 128 entries or 1 % of the
// budget, the goroutine that filled it drains it. The drainer tells ristretto what to forget and
// what to count, and offers the victims. It calls Wait once, and then acts on what ristretto's
// callbacks said. An admitted node is inMain. A refused or evicted node leaves the table and is
// reported, or returns to the front if it was hit meanwhile.
//
// # Why ristretto is never asked for an entry
//
// ristretto applies a Set late, may drop it, keeps the first of two quick Sets of a new key, and
// lets a late Set undo a Del. That is harmless for a policy that gets its calls in order and is
// waited for. It is harmful for a store. Therefore the table is the store for every entry, and
// ristretto only decides what stays. The price is a cell of 16 bytes for each entry that is also in
// ristretto's own map. The gains:
//
//   - A hit in the main part costs the same as a hit in the front. ristretto's Get is a pool, a
//     lock and a map.
//   - A Get can neither promote an old node nor find a dead one.
//   - There is no moment in which an entry is between two stores.
//
// # Order
//
//  1. Only the table answers. It changes only under the shard's mutex, and only to a newer entry
//     or to none, so no entry comes back.
//  2. The calls for one hash are queued under the shard's mutex, in the table's order: first
//     forget the old node, then, later, offer the new one. A drain passes on all forgets before
//     any offer. The reverse, an offer and then a forget of the same node, cannot be in one
//     batch: a node is forgotten only when it is inMain, and so after the drain that offered it.
//  3. Only the holder of handover.mu calls ristretto. ristretto's callbacks run only while it
//     applies an offer, that is, between an offer and the end of Wait. They append to left and
//     take no lock, so the drainer may wait for them.
//  4. A verdict is about a node, not about a hash. The drainer acts on it only if the node is not
//     gone by then. A Set or Delete that came first has already reported the node.
//  5. A node that goes while the drainer has it is not inMain, so the call that removes it queues
//     no forget. The drainer queues the forget when it settles and finds the node gone. The newer
//     node of the hash may be queued already. Rule 2 still holds, because the next drain forgets
//     first.
//  6. Lock order: handover.mu, then a shard's mutex, then the queue's. No goroutine waits for
//     handover.mu or for ristretto while it holds a shard's mutex.
//
// # Cost
//
// One Wait is two goroutine switches, about 5 µs, for 128 entries. ristretto evicts by sampling
// five entries, so an offer takes constant time. Only the drainer's own Set takes that long.
// Other Sets go on until the total is 4 % over MaxBytes; then they wait for the drain (reserve).
//
// # Failure
//
// ristretto refuses a Set when its channel of 32 Ki is full. The drainer waits until it is empty
// and offers again, so nothing is dropped. If ristretto lost a node without a callback, the table
// would hold the node forever. v2.4.2 calls OnEvict or OnReject for every node that was offered
// and not Del'd. The budget test would show the leak of a version that does not.
type handover struct {
	mu   sync.Mutex // one drainer at a time; protects what follows
	lfu  *engine.Cache[uint64, *node]
	down bool // stopped, or never started

	batch batch
	left  []departure // written by ristretto's callbacks; see rule 3

	// atHandover, when not nil, is called after ristretto has answered and before the drainer acts
	// on the answers. Tests create races here.
	atHandover func()
}

type departure struct {
	node   *node
	reason tier.EvictReason
}

func (h *handover) start(l limits) (err error) {
	// Keys are the tier's hashes. ristretto also compares a second hash, and ignores it when it
	// is 0.
	h.lfu, err = engine.NewCache(&engine.Config[uint64, *node]{
		NumCounters:        l.counters,
		MaxCost:            l.main,
		BufferItems:        64,
		IgnoreInternalCost: true,
		KeyToHash:          func(hash uint64) (uint64, uint64) { return hash, 0 },
		OnEvict:            h.note(tier.Evicted),
		OnReject:           h.note(tier.Rejected),
	})
	h.down = err != nil
	return err
}

func (h *handover) note(reason tier.EvictReason) func(*engine.Item[*node]) {
	return func(i *engine.Item[*node]) {
		if i.Value != nil { // it is nil when a Del overtook the eviction
			h.left = append(h.left, departure{i.Value, reason})
		}
	}
}

func (h *handover) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		return
	}
	h.lfu.Close()
	h.lfu, h.down = nil, true
	h.batch, h.left = batch{}, nil
}

// returns limits how many of the departures may go back to the front: one in returns. At least
// half of them leave even if they were hit, because a drain must make room.
type returns int

const (
	noReturns   returns = 0
	halfReturns returns = 2
)

// drainIfDue drains a full queue unless another goroutine drains it.
func (t *Tier) drainIfDue() {
	if !t.queue.due(t.limits.batch) || !t.main.mu.TryLock() {
		return
	}
	defer t.main.mu.Unlock()
	t.drainLocked(halfReturns)
}

// drainLocked passes the queue to ristretto and acts on its verdicts. The caller holds main.mu.
func (t *Tier) drainLocked(back returns) {
	h := &t.main
	if h.down {
		return
	}
	t.queue.swap(&h.batch)
	for _, hash := range h.batch.forgets {
		h.lfu.Del(hash)
	}
	for _, hash := range h.batch.counts {
		h.lfu.Get(hash) // for the count in its sketch; the result is not used
	}
	for _, n := range h.batch.spills {
		t.offer(n)
	}
	h.lfu.Wait()
	if h.atHandover != nil {
		h.atHandover()
	}
	t.dismiss(back)
	t.settle()
	left := h.left
	h.left = h.left[:0]
	t.tellLeft(left)
}

// offer passes n to ristretto unless a Set or Delete has removed it. For a removal after the
// check, see rule 5.
func (t *Tier) offer(n *node) {
	s := t.shardOf(n.Hash)
	s.mu.Lock()
	current := n.Place == spilling
	s.mu.Unlock()
	if !current {
		return
	}
	n.Held = true
	t.main.lfu.Get(n.Hash) // the Set that brought n here counts as an access
	for !t.main.lfu.Set(n.Hash, n, chargeOf(n)) {
		t.main.lfu.Wait()
	}
}

// dismiss acts on what ristretto refused or evicted. The entries that leave the tier stay in
// h.left.
func (t *Tier) dismiss(back returns) {
	h := &t.main
	mayReturn := 0
	if back != noReturns {
		mayReturn = len(h.left) / int(back)
	}
	left := h.left[:0]
	for _, d := range h.left {
		d.node.Held = false
		if mayReturn > 0 && t.bringBack(d.node) {
			mayReturn--
		} else if t.evict(d.node) {
			left = append(left, d)
		}
	}
	clear(h.left[len(left):])
	h.left = left
}

// tellLeft reports the entries that left the tier. It comes last, because the callback may panic.
// After a panic it still reports the rest.
func (t *Tier) tellLeft(left []departure) {
	told := 0
	defer func() {
		if told < len(left) {
			t.tellLeft(left[told:])
		}
	}()
	for told < len(left) {
		d := left[told]
		left[told] = departure{} // do not keep a dead entry alive
		told++
		t.tell(d.node, d.reason)
	}
}

// bringBack returns n to the front if it was hit since it left the front. The front may exceed
// its limit then; the next Set restores the limit.
func (t *Tier) bringBack(n *node) bool {
	s := t.shardOf(n.Hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Place == gone || n.Seen.Load() == 0 {
		return false
	}
	n.Seen.Store(0)
	n.Place = inFront
	s.front.push(n)
	t.front.Add(chargeOf(n))
	t.queue.count(n.Hash)
	return true
}

// evict removes n from the table. It returns false if n is gone already (rule 4).
func (t *Tier) evict(n *node) bool {
	s := t.shardOf(n.Hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Place == gone {
		return false
	}
	s.table.Remove(n.Hash)
	n.Place = spilling // ristretto has dropped n: there is nothing to forget
	t.releaseLocked(s, n)
	return true
}

// settle sets the place of the nodes that ristretto admitted.
func (t *Tier) settle() {
	for _, n := range t.main.batch.spills {
		if !n.Held {
			continue
		}
		s := t.shardOf(n.Hash)
		s.mu.Lock()
		switch n.Place {
		case spilling:
			n.Place = inMain
		case gone:
			t.queue.forget(n) // rule 5
		case inFront, inMain: // the place is right
		}
		s.mu.Unlock()
	}
}
