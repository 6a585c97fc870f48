package invalidate

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

// FenceStats is what [Fences] remember, and what it has cost that they cannot remember
// everything.
type FenceStats struct {
	// Keys, Prefixes and Tags are the fences that are remembered exactly now, a scope that
	// was fenced again after a while more than once. There are 524,288 of each at most,
	// in 28 MB, and in 36 MB for prefixes; half of that as a rule.
	Keys, Prefixes, Tags int64

	// Forgotten counts entries and loads that were given up because a fence that may cover
	// them is no longer remembered.
	Forgotten int64

	// Holds are the live holds, and those that ended a moment ago. HoldsWidened counts those
	// beyond the limit, which hold more than they name; see [Hold].
	Holds, HoldsWidened int64
}

// Stats returns the numbers of now.
func (f *Fences) Stats() FenceStats {
	s := FenceStats{Keys: f.recent.len(), Forgotten: f.given.Load()}
	f.mu.RLock()
	s.Prefixes, s.Tags = int64(f.scopes.prefixes.len()), int64(f.scopes.tags.len())
	f.mu.RUnlock()
	s.Holds, s.HoldsWidened = f.holds.stats()
	return s
}
