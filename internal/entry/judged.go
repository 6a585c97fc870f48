package entry

import (
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/safeguard"
)

// Unfenced reports whether no fence covers the entry, whose key speller spells. It also notes the
// end of its freshness by an Expire; read that afterwards.
func (it *Entry) Unfenced(fences *fence.Fences, speller fence.Keyed) bool {
	gen := fences.Generation() // before the check: a later fence is not part of it
	switch at := it.ClearAt.Load(); {
	case at == covered:
		return false
	case at != expired && (at == gen || !fences.Since(at, it.low, it.Home.Part) && (it.Plain || !fences.DepsSince(at, &it.Deps))):
		return true
	}
	tick, fresh, ok := fences.Clear(it.Born.Load(), it.low, speller, &it.Deps)
	return it.judged(gen, tick, fresh, ok)
}

// UnfencedNow is Unfenced for an item that is stored only now. A walk that has begun since the
// item's mark may not come to the item any more, so the item notes the tick of this check.
func (it *Entry) UnfencedNow(fences *fence.Fences, speller fence.Keyed) bool {
	born := it.Born.Load()
	if !fences.Settling(born) {
		return it.Unfenced(fences, speller)
	}
	gen := fences.Generation() // before the check
	tick, fresh, ok := fences.Judge(born, it.low, speller, &it.Deps)
	return it.judged(gen, tick, fresh, ok)
}

// covered is the value of ClearAt when a fence covers the item. A fence is never removed, so the
// item need not be judged again.
const covered = uint64(1<<64 - 1)

// expired is the value of ClearAt when no fence covers the item but an Expire has ended its
// freshness. No hit then takes the fast path for it.
const expired = covered - 1

// judged notes the fences' verdict on the item at a generation, and returns ok: no fence covers
// it. It notes the end of the freshness before the tick. A goroutine that sees the tick also
// sees that end.
func (it *Entry) judged(gen, tick uint64, fresh int64, ok bool) bool {
	if !ok {
		it.ClearAt.Store(covered)
		return false
	}
	if fresh != fence.Forever && !safeguard.Off(safeguard.Soft) {
		it.Expire(fresh)
		it.nextTry.Store(0) // a failed or running load knows nothing of this Expire
	}
	it.noteClear(tick)
	if it.Ended.Load() != 0 {
		gen = expired
	}
	if it.ClearAt.Load() != gen {
		it.ClearAt.Store(gen)
	}
	return true
}

// noteClear notes that no fence up to the tick covers the item.
func (it *Entry) noteClear(tick uint64) {
	for {
		born := it.Born.Load()
		if born >= tick || it.Born.CompareAndSwap(born, tick) {
			return
		}
	}
}

// Settle judges the item before fences are forgotten. It reports whether the item is dead.
func (it *Entry) Settle(fences *fence.Fences, s *fence.Survey) (dead bool) {
	born, gen := it.Born.Load(), fences.Generation() // before the check, as in Unfenced
	switch {
	case born >= s.Tick(): // judged a moment ago
		return false
	case it.ClearAt.Load() == covered:
		return true
	}
	var d *fence.Deps
	if !it.Plain { // a plain item depends on nothing; to look would touch another cache line
		d = &it.Deps
	}
	if s.Clear(born, it.low, it, d) {
		it.noteClear(s.Tick())
		return false
	}
	tick, fresh, ok := s.Judge(born, it.low, it, d)
	return !it.judged(gen, tick, fresh, ok)
}
