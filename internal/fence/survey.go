package fence

import (
	"slices"

	"github.com/twofold-go/twofold/invalidate"
)

// Survey is a copy of what the tables remember, for one walk through all entries. It takes no lock,
// and spells a key only if prefixes were fenced. It finds most entries clear; the others must be
// checked by [Survey.ClearExact].
//
// Only the low halves of the hashes are compared, because an entry knows no more of its key. So a
// fence of another key makes an entry suspicious with a probability of one in four billion.
//
// The copy takes 1.3 MB, and eight bytes for each fence since the last walk; twice as much while it
// is made.
type Survey struct {
	of       *Fences
	tick     uint64               // all fences up to it are in the copy, or below one of the floors
	floor    uint64               // an entry born before it is suspicious
	tagged   uint64               // ... if it has tags or parts
	newest   uint64               // ... if it has more parts than it names
	prefixed uint64               // ... if a prefix of its key is in the copy
	shards   [recentShards]uint64 // ... if its key is in the shard

	lengths []int    // of the prefixes
	filter  []uint64 // a bit for the high bits of each low half; saves most look-ups in fences
	base    uint64   // ticks in fences are counted from it
	fences  []uint64 // the low half of a hash, and a tick; sorted
	starts  []uint32 // where the fences of each bucket begin
}

// A bit of the filter stands for filterShift bits of the low halves. It takes 1 MiB.
const filterShift = 9

// Survey returns a copy of the tables. It begins a walk: pass its Tick to [Fences.Settled].
func (f *Fences) Survey() *Survey {
	s := &Survey{of: f, tick: f.tick.Load(), floor: f.settled.Load()}
	s.base = max(s.tick, 1<<31) - 1<<31
	raise(&f.surveyed, s.tick)
	var all []uint64
	add := func(hash, tick uint64) {
		s.newest = max(s.newest, tick)
		if tick > s.floor { // an entry that no walk has checked since is suspicious anyway
			all = append(all, hash<<32|s.since(tick))
		}
	}
	// A fence takes its tick and is stored under one of these locks. So the copy has all fences up
	// to the tick that was read before.
	for i := range f.recent.shards {
		r := &f.recent.shards[i]
		r.mu.Lock()
		r.each(add)
		s.shards[i] = r.forgotten
		r.mu.Unlock()
	}
	f.mu.RLock()
	s.scopes(f, add)
	f.mu.RUnlock()
	s.sort(all)
	return s
}

// since returns a tick as it is in fences. One too far from the survey's counts as newer than it is:
// that makes an entry suspicious, never clear.
func (s *Survey) since(tick uint64) uint64 { return min(max(tick, s.base)-s.base, 1<<32-1) }

// each calls add with each remembered scope.
func (m *memory[K]) each(add func(k K, tick uint64)) {
	for _, b := range m.blocks {
		for k, f := range b.fences {
			add(k, f.tick)
		}
	}
}

// scopes copies the tables of non-key and soft fences. The fences' mu is held.
func (s *Survey) scopes(f *Fences, add func(hash, tick uint64)) {
	s.tagged = slices.Max(s.shards[:]) // of the keys of parts
	floor := s.floor
	for _, t := range []*scopeTable{&f.scopes, &f.soft.scopeTable} {
		floor = max(floor, t.all.tick, t.keys.forgotten, t.prefixes.forgotten)
		s.tagged = max(s.tagged, t.tags.forgotten, t.stems.forgotten)
		s.prefixed = max(s.prefixed, t.prefixes.newest().tick)
		s.lengths = append(s.lengths, t.lengths...)
		t.prefixes.each(func(p prefix, tick uint64) { add(p.hash, tick) })
		add(invalidate.AnyTag, t.anyTag.tick)
		t.tags.each(add)
		t.keys.each(add)
		t.stems.each(func(hash, tick uint64) { add(^hash, tick) }) // inverted, because a key's own prefix must not find it
	}
	s.floor = floor
	slices.Sort(s.lengths)
	s.lengths = slices.Compact(s.lengths)
}

// sort puts the fences into buckets by the high bits of their low halves, and sorts each bucket.
func (s *Survey) sort(all []uint64) {
	s.starts, s.filter = make([]uint32, 1<<16+2), make([]uint64, 1<<(32-filterShift)/64)
	for _, f := range all {
		bit := f >> (32 + filterShift)
		s.filter[bit/64] |= 1 << (bit % 64)
		s.starts[f>>48+2]++
	}
	for i := 2; i < len(s.starts); i++ {
		s.starts[i] += s.starts[i-1]
	}
	s.fences = make([]uint64, len(all))
	for _, f := range all {
		at := &s.starts[f>>48+1]
		s.fences[*at] = f
		*at++
	}
	for b := range uint32(1 << 16) {
		slices.Sort(s.bucket(b << 16))
	}
}

func (s *Survey) bucket(low uint32) []uint64 {
	b := low >> 16
	return s.fences[s.starts[b]:s.starts[b+1]]
}

// Tick returns the tick that a clear entry notes.
func (s *Survey) Tick() uint64 { return s.tick }

// Clear reports whether surely no fence up to Tick covers the entry e, or ends its freshness. Born
// is the tick of its mark, or a later tick at which it was found clear.
func (s *Survey) Clear(born uint64, hash uint32, e Keyed, d *Deps) bool {
	if born < s.floor || born < s.shards[hash&clockMask/shardBuckets] || s.fenced(hash, born) {
		return false
	}
	if d != nil && !s.clearOfDeps(born, d) {
		return false
	}
	return born >= s.prefixed || s.clearOfPrefixes(born, e)
}

// clearOfDeps is Clear for the tags and the parts of an entry.
func (s *Survey) clearOfDeps(born uint64, d *Deps) bool {
	if len(d.Tags)+len(d.Keys) > 0 && born < s.tagged || d.built() && d.anyKey() && born < s.newest {
		return false
	}
	fenced := func(h uint64) bool { return s.fenced(uint32(h), born) } //nolint:gosec // the low half is what is wanted
	stem := func(h uint64) bool { return s.fenced(uint32(^h), born) }  //nolint:gosec // the low half is what is wanted
	return !slices.ContainsFunc(d.Tags, fenced) && !slices.ContainsFunc(d.Keys, fenced) &&
		!slices.ContainsFunc(d.Keys, stem) && !slices.ContainsFunc(d.Prefixes, stem)
}

func (s *Survey) clearOfPrefixes(born uint64, e Keyed) bool {
	key := s.spell(e)
	return key != "" && !anyPrefix(key, s.lengths, func(p prefix) bool {
		return s.fenced(uint32(p.hash), born) //nolint:gosec // the low half is what is wanted
	})
}

// ClearExact is [Fences.ClearExact] for an entry that Clear found suspicious.
func (s *Survey) ClearExact(born uint64, hash uint32, e Keyed, d *Deps) (tick uint64, fresh int64, ok bool) {
	return s.of.ClearExact(born, hash, surveyed{e, s}, d)
}

// surveyed is an entry whose key a walk spells.
type surveyed struct {
	Keyed
	s *Survey
}

// FullKey implements Keyed.
func (e surveyed) FullKey() string { return e.s.spell(e.Keyed) }

// spell spells a key for the walk, and lets waiting writers know: this may run a caller's code.
func (s *Survey) spell(e Keyed) string {
	s.of.crowd.spells.Add(1)
	defer s.of.crowd.spells.Add(1)
	return e.FullKey()
}

// fenced reports whether the copy has a fence after a tick, of a hash with that low half.
func (s *Survey) fenced(low uint32, after uint64) bool {
	return s.filter[low>>filterShift/64]>>(low>>filterShift%64)&1 != 0 && s.search(low, after)
}

func (s *Survey) search(low uint32, after uint64) bool {
	b := s.bucket(low)
	i, _ := slices.BinarySearch(b, uint64(low)<<32|s.since(after+1))
	return i < len(b) && uint32(b[i]>>32) == low //nolint:gosec // the high half fits
}
