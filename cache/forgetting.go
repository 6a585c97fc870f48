package cache

import (
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/internal/scope"
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
func (it *item[K, V]) judged(gen, tick uint64, fresh int64, ok bool) bool {
	if !ok {
		it.clearAt.Store(covered)
		return false
	}
	if fresh != follow.Forever && !safeguard.Off(safeguard.Soft) {
		it.expire(fresh)
		it.nextTry.Store(0) // a failed or running load knows nothing of this Expire
	}
	for {
		born := it.born.Load()
		if born >= tick || it.born.CompareAndSwap(born, tick) {
			break
		}
	}
	if it.ended.Load() != 0 {
		gen = expired
	}
	if it.clearAt.Load() != gen {
		it.clearAt.Store(gen)
	}
	return true
}

// settle judges the item by the exact tables before they are forgotten. It skips an item whose
// key panics when it is spelled; that item is given up later.
func (it *item[K, V]) settle(t *Tiers) {
	defer func() { _ = recover() }()
	gen := t.fences.Generation() // before the check, as in unfenced
	if it.clearAt.Load() == covered {
		return
	}
	tick, fresh, ok := t.fences.Judge(it.born.Load(), it.low, it, it.tags)
	it.judged(gen, tick, fresh, ok)
}

// settleBeforeForgetting makes the fences ask for a walk through the local tier before they
// forget. It does nothing if the tier is no tier.Ranger.
func (t *Tiers) settleBeforeForgetting() {
	l, ok := t.local.(tier.Ranger)
	if !ok {
		return
	}
	t.fences.OnForget(func() {
		walk := new(scope.Scope) // ends when the tiers close
		if t.work.Begin(&walk.Task, walk) {
			go t.settle(l, walk)
		}
	})
}

func (t *Tiers) settle(l tier.Ranger, walk *scope.Scope) {
	defer t.work.End(&walk.Task)
	upTo := t.fences.Tick() // every item judged from now on is judged by all fences up to this tick
	l.Range(func(e tier.Entry) bool {
		if it, ok := e.(interface{ settle(*Tiers) }); ok {
			it.settle(t)
		}
		return !t.work.Closed()
	})
	if !t.work.Closed() {
		t.fences.Settled(upTo)
	}
}
