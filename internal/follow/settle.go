package follow

import "github.com/twofold-go/twofold/invalidate"

// OnForget has due called when fences are to be forgotten before long, and not again until
// Settled. It runs on the goroutine that stored a fence, so it must not block: it begins,
// elsewhere, to hold every entry at hand against [Fences.Judge], and ends by Settled. Without
// it, and when that takes longer than fences take to come, fences are forgotten all the same,
// at the cost of entries; see [FenceStats].
func (f *Fences) OnForget(due func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onForget = due
}

// Settled says that every entry has been judged since the fences had that tick, and noted
// the tick it was found clear at. An entry that was missed loses by it and nothing worse.
func (f *Fences) Settled(tick uint64) {
	raise(&f.settled, tick)
	f.settling.Store(false)
}

// settleSoon calls onForget unless that has been done.
func (f *Fences) settleSoon() {
	f.mu.RLock()
	due := f.onForget
	f.mu.RUnlock()
	if due != nil && f.settling.CompareAndSwap(false, true) {
		due()
	}
}

// Stats returns the numbers of now.
func (f *Fences) Stats() invalidate.FenceStats {
	s := invalidate.FenceStats{Keys: f.recent.len(), Forgotten: f.given.Load()}
	f.mu.RLock()
	s.Prefixes, s.Tags = int64(f.scopes.prefixes.len()), int64(f.scopes.tags.len())
	s.Expired = f.soft.len()
	f.mu.RUnlock()
	s.Holds, s.HoldsWidened = f.holds.stats()
	return s
}
