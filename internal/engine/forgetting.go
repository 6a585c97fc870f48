package engine

import (
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/internal/unwrap"
	"github.com/twofold-go/twofold/tier"
)

// Fences are remembered exactly only for a while. Before the process forgets some, a background
// walk judges the entries of the local tier once. Each entry that no fence covers notes the tick
// of that check. So an entry ends by an invalidation that covers it, and rarely because too many
// other keys were invalidated.

// covered is the value of clearAt when a fence covers the item. A fence is never removed, so the
// item need not be judged again.
const covered = uint64(1<<64 - 1)

// expired is the value of clearAt when no fence covers the item but an Expire has ended its
// freshness. No hit then takes the fast path for it.
const expired = covered - 1

// judged notes the fences' verdict on the item at a generation, and returns ok: no fence covers
// it. It notes the end of the freshness before the tick. A goroutine that sees the tick also
// sees that end.
func (it *Entry) judged(gen, tick uint64, fresh int64, ok bool) bool {
	if !ok {
		it.clearAt.Store(covered)
		return false
	}
	if fresh != fence.Forever && !safeguard.Off(safeguard.Soft) {
		it.expire(fresh)
		it.nextTry.Store(0) // a failed or running load knows nothing of this Expire
	}
	it.noteClear(tick)
	if it.ended.Load() != 0 {
		gen = expired
	}
	if it.clearAt.Load() != gen {
		it.clearAt.Store(gen)
	}
	return true
}

// noteClear notes that no fence up to the tick covers the item.
func (it *Entry) noteClear(tick uint64) {
	for {
		born := it.born.Load()
		if born >= tick || it.born.CompareAndSwap(born, tick) {
			return
		}
	}
}

// settle judges the item before fences are forgotten, and takes a dead item out of the tier. It
// skips an item whose key panics when it is spelled; that item is given up later.
func (it *Entry) settle(t *Core, s *fence.Survey) {
	defer func() { _ = recover() }()
	born, gen := it.born.Load(), t.fences.Generation() // before the check, as in unfenced
	if born >= s.Tick() {
		return // judged a moment ago
	}
	if it.clearAt.Load() != covered {
		var d *fence.Deps
		if !it.Plain { // a plain item depends on nothing; to look would touch another cache line
			d = &it.Deps
		}
		if s.Clear(born, it.low, it, d) {
			it.noteClear(s.Tick())
			return
		}
		if tick, fresh, ok := s.Judge(born, it.low, it, d); it.judged(gen, tick, fresh, ok) {
			return
		}
	}
	it.drop(t)
}

// drop takes a dead item out of the local tier, only to give the memory back. The lock keeps it
// from taking out the item's successor.
func (it *Entry) drop(t *Core) {
	at := it.View.kind.Slot(it)
	mu := t.putsOf(at)
	mu.Lock()
	defer mu.Unlock()
	if e, ok := t.local.Get(at); ok && e == any(&it.Node) {
		t.local.Delete(at)
	}
}

// settleBeforeForgetting makes the fences ask for a walk through the local tier before they
// forget. It does nothing if the tier is no tier.Ranger.
func (t *Core) settleBeforeForgetting() {
	l, ok := unwrap.As[tier.Ranger](t.local)
	if !ok {
		return
	}
	t.fences.OnForget(func() {
		walk := new(scope.Scope) // ends when the tiers close
		if t.work.Begin(&walk.Task, walk) {
			go t.settle(l, walk)
		} else {
			t.fences.Settled(0)
		}
	})
}

func (t *Core) settle(l tier.Ranger, walk *scope.Scope) {
	defer t.work.End(&walk.Task)
	s, upTo := t.fences.Survey(), uint64(0)
	defer func() { t.fences.Settled(upTo) }()
	batch, n := make([]*Entry, 0, walkBatch), 0
	flush := func() {
		for _, it := range batch {
			it.settle(t, s)
		}
		n += len(batch)
		batch = batch[:0]
	}
	l.Range(func(e tier.Entry) bool {
		if it := entryIn(e); it != nil {
			if batch = append(batch, it); len(batch) == walkBatch {
				flush()
			}
		}
		return !t.work.Closed()
	})
	if flush(); !t.work.Closed() {
		upTo = s.Tick()
		t.fences.Expect(n)
	}
}

// walkBatch is how many items the walk collects before it judges them. Each item costs a miss of
// the processor's caches. The processor overlaps the misses of a loop that does nothing else.
const walkBatch = 64
