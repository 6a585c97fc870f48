package invalidate

import "sync/atomic"

// Stamp is the part of a cached entry that fences are checked against. Fill in
// the exported fields before the entry is shared; the rest is the stamp's own.
type Stamp struct {
	gen atomic.Uint64 // generation the entry was last found clear at, plus one

	seen atomic.Uint64 // tick the key clock was last found clear at

	Hash uint64   // xxHash64 of the full key
	Born uint64   // Mark.Tick
	AsOf Position // position the value is as of: Mark.Scope, or the frame's

	ver atomic.Uint64 // version the scopes were last found clear at, plus one
}

// Generation counts the fences stored so far, of whatever kind. What was found
// clear at a generation is clear for as long as it lasts; a caller that keeps
// it reads it before it checks.
func (f *Fences) Generation() uint64 { return f.gen.Load() }

// Since reports whether a fence that may concern an entry with that hash, of which the
// low 32 bits will do, has been stored since a generation. An entry that was found clear
// at the generation is clear if not, so that fences of other keys cost it two loads, and
// no write.
//
// A fence that is being stored while this is asked may be missed, and then its storing has
// not returned: whoever reads a lease first, and asks second, misses none that the lease
// tells of.
func (f *Fences) Since(gen uint64, hash uint32) bool {
	return f.wide.Load() > gen || f.last[hash&groupMask].Load() > gen
}

// Quiet reports whether nothing at all was fenced since the entry was last
// found clear. It is two loads, and the first question to ask.
func (f *Fences) Quiet(s *Stamp) bool { return f.gen.Load()+1 == s.gen.Load() }

// Clear reports whether no fence covers the entry. After a fence of whatever it
// is four loads, once per entry; after one that might concern the entry it
// looks closer.
func (f *Fences) Clear(s *Stamp, key string, tags []uint64) bool {
	if f.Quiet(s) {
		return true
	}
	// Read first: a fence that is stored while we look is not part of it.
	gen := f.gen.Load()
	if f.ver.Load()+1 != s.ver.Load() || f.keys[s.Hash&clockMask].Load() > s.seen.Load() {
		if !f.clearSlow(s, key, tags) {
			return false
		}
	}
	raise(&s.gen, gen+1)
	return true
}

func (f *Fences) clearSlow(s *Stamp, key string, tags []uint64) bool {
	// Both are read before the check: a fence that comes while it runs must
	// send the next reader here again.
	ver, bucket := f.ver.Load(), f.keys[s.Hash&clockMask].Load()
	if f.covers(s.Hash, s.Born, s.AsOf, key, tags) {
		return false
	}
	raise(&s.seen, bucket)
	raise(&s.ver, ver+1)
	return true
}

// Overtaken reports whether something marked m has been invalidated since:
// the value with this key and these tags may be older than a fence.
func (f *Fences) Overtaken(m Mark, hash uint64, key string, tags []uint64) bool {
	if f.tick.Load() == m.Tick {
		return false
	}
	return f.covers(hash, m.Tick, m.Scope, key, tags)
}

// Accepts reports whether a frame from the remote tier, as of the given
// positions, is older than no fence this process knows.
func (f *Fences) Accepts(keyPos, scopePos Position, hash uint64, key string, tags []uint64) bool {
	const fetchedNow = 1<<64 - 1 // ticks say nothing about what others stored
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.recent.m[hash].pos <= keyPos && scopePos >= f.floor && !f.scopes.covers(scopePos, fetchedNow, key, tags)
}

// covers reports whether something of this process, born at a tick and as of a
// position, is covered by a fence.
func (f *Fences) covers(hash, born uint64, asOf Position, key string, tags []uint64) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return asOf < f.floor || f.flush.Load() > born ||
		f.recent.covers(hash, born, f.keys[hash&clockMask].Load()) ||
		f.scopes.covers(asOf, born, key, tags)
}

// raise lifts a to at least v.
func raise(a *atomic.Uint64, v uint64) {
	for {
		old := a.Load()
		if old >= v || a.CompareAndSwap(old, v) {
			return
		}
	}
}
