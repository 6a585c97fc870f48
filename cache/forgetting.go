package cache

import (
	"github.com/twofold-go/twofold/internal/follow"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/internal/scope"
	"github.com/twofold-go/twofold/tier"
)

// The fences are remembered exactly for a while only. Before some are forgotten, what the
// local tier holds is judged once, in the background, and every entry that is clear notes
// the tick at which it was. So an entry dies by an invalidation that covers it, and seldom
// because too much else was invalidated.

// covered is in the place of the generation that an item was clear at when a fence covers
// it. A fence is never taken back, so nothing has to be judged again.
const covered = uint64(1<<64 - 1)

// expired is there when none does, but an Expire has ended the item's freshness. So no hit
// takes it for one that needs no further thought.
const expired = covered - 1

// judged notes what the fences said of the item at a generation, and passes on whether none
// covers it. The end of its freshness comes first: who sees the tick sees that.
func (it *item[K, V]) judged(gen, tick uint64, fresh int64, ok bool) bool {
	if !ok {
		it.clearAt.Store(covered)
		return false
	}
	if fresh != follow.Forever && !safeguard.Off(safeguard.Soft) {
		it.expire(fresh)
		it.nextTry.Store(0) // a load that failed or runs knows nothing of this
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

// settle judges the item by the exact tables, so that it outlives their forgetting. What it
// cannot spell, because a method of its key panics, is left to be given up.
func (it *item[K, V]) settle(t *Tiers) {
	defer func() { _ = recover() }()
	gen := t.fences.Generation() // before the check, as in unfenced
	if it.clearAt.Load() == covered {
		return
	}
	tick, fresh, ok := t.fences.Judge(it.born.Load(), it.low, it, it.tags)
	it.judged(gen, tick, fresh, ok)
}

// settleBeforeForgetting has the fences ask for a walk through the local tier, if it can be
// walked through.
func (t *Tiers) settleBeforeForgetting() {
	l, ok := t.local.(tier.Ranger)
	if !ok {
		return
	}
	t.fences.OnForget(func() {
		walk := new(scope.Scope) // it ends by itself when the tiers close
		if t.work.Begin(&walk.Task, walk) {
			go t.settle(l, walk)
		}
	})
}

func (t *Tiers) settle(l tier.Ranger, walk *scope.Scope) {
	defer t.work.End(&walk.Task)
	upTo := t.fences.Tick() // what is judged from now on is held against every fence up to it
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
