package entry

import (
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

// Unfenced reports whether no fence covers the entry. It also notes the end of its freshness by an
// Expire; read that afterwards.
func (it *Entry) Unfenced(fences *fence.Fences) bool {
	gen := fences.Generation() // before the check: a later fence is not part of it
	switch at := it.ClearAt.Load(); {
	case at == covered:
		return false
	case it.clearSince(fences, at, gen):
		return true
	}
	tick, fresh, ok := fences.Clear(it.ClearTick.Load(), it.low, it, &it.Deps)
	return it.noteCheck(gen, tick, fresh, ok)
}

// UnfencedAs is Unfenced for an entry whose key the caller has spelled and hashed.
func (it *Entry) UnfencedAs(fences *fence.Fences, hash uint64, key string) bool {
	gen := fences.Generation() // before the check
	at := it.ClearAt.Load()
	return at != covered && (it.clearSince(fences, at, gen) || it.isClear(fences, gen, hash, key))
}

// UnfencedNow is UnfencedAs for an entry that is stored only now.
func (it *Entry) UnfencedNow(fences *fence.Fences, hash uint64, key string) bool {
	gen := fences.Generation() // before the check
	return it.ClearAt.Load() != covered && it.isClear(fences, gen, hash, key)
}

// clearSince reports whether no fence since the generation at, which ClearAt had, concerns the entry.
func (it *Entry) clearSince(fences *fence.Fences, at, gen uint64) bool {
	return at != expired && (at == gen || !fences.Since(at, it.low, it.Home.Part) && (it.Plain || !fences.DepsSince(at, &it.Deps)))
}

func (it *Entry) isClear(fences *fence.Fences, gen, hash uint64, key string) bool {
	tick, fresh, ok := fences.ClearNow(it.ClearTick.Load(), hash, key, &it.Deps)
	return it.noteCheck(gen, tick, fresh, ok)
}

// covered is the value of ClearAt when a fence covers the entry. A fence is never removed, so the
// entry need not be checked again.
const covered = uint64(1<<64 - 1)

// expired is the value of ClearAt when no fence covers the entry but an Expire has ended its
// freshness. No hit then takes the fast path for it.
const expired = covered - 1

// noteCheck notes the fences' verdict on the entry at a generation, and returns ok: no fence covers
// it. It notes the end of the freshness before the tick. A goroutine that sees the tick also
// sees that end.
func (it *Entry) noteCheck(gen, tick uint64, fresh int64, ok bool) bool {
	if !ok {
		it.ClearAt.Store(covered)
		return false
	}
	if fresh != fence.Forever && !safeguard.Off(safeguard.Soft) {
		it.Expire(fresh)
		it.nextTry.Store(0) // an earlier pause, by a failed or running load, ends with this Expire
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

// noteClear notes that no fence up to the tick covers the entry.
func (it *Entry) noteClear(tick uint64) {
	for {
		born := it.ClearTick.Load()
		if born >= tick || it.ClearTick.CompareAndSwap(born, tick) {
			return
		}
	}
}

// Settle checks the entry before fences are forgotten. It reports whether the entry is dead.
func (it *Entry) Settle(fences *fence.Fences, s *fence.Survey) (dead bool) {
	born, gen := it.ClearTick.Load(), fences.Generation() // before the check, as in Unfenced
	switch {
	case born >= s.Tick(): // checked a moment ago
		return false
	case it.ClearAt.Load() == covered:
		return true
	}
	var d *fence.Deps
	if !it.Plain { // a plain entry depends on nothing; reading Deps would touch another cache line
		d = &it.Deps
	}
	if s.Clear(born, it.low, it, d) {
		it.noteClear(s.Tick())
		return false
	}
	tick, fresh, ok := s.ClearExact(born, it.low, it, d)
	return !it.noteCheck(gen, tick, fresh, ok)
}
