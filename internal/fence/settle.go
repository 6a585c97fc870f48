package fence

// OnForget registers due. It is called when fences will soon be forgotten, and not again before
// Settled. It runs on the goroutine that stored a fence, so it must not block. It starts another
// goroutine, which checks every entry by a [Survey] and then calls Settled. Without due, or if that
// takes too long, fences are forgotten anyway, and entries are lost; see [FenceStats].
func (f *Fences) OnForget(due func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.onForget = due
}

// Settled says that every entry has been checked since the fences had that tick, and that each clear
// entry has noted the tick. An entry that was missed may be lost, but is never served wrongly. Tick 0
// means that the walk was not completed.
func (f *Fences) Settled(tick uint64) {
	raise(&f.settled, tick)
	f.settling.Store(false)
	f.crowd.wake()
}

// Expect says how many entries a walk has to check. See memory.
func (f *Fences) Expect(entries int) {
	n := max(f.block, entries/8)
	f.mu.Lock()
	f.scopes.resize(n)
	f.soft.resize(n)
	f.mu.Unlock()
	for i := range f.recent.shards {
		s := &f.recent.shards[i]
		s.mu.Lock()
		s.size = max(n/recentShards, 1)
		s.mu.Unlock()
	}
}

// settleSoon calls onForget unless it was already called.
func (f *Fences) settleSoon() {
	f.mu.RLock()
	due := f.onForget
	f.mu.RUnlock()
	if due != nil && f.settling.CompareAndSwap(false, true) {
		due()
	}
}
