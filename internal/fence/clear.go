package fence

import (
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// Generation counts the fences stored so far, of all kinds. What was found clear at a generation
// stays clear as long as the generation does not change. A caller that notes the generation must
// read it before the check. At generation 0 everything is clear.
func (f *Fences) Generation() uint64 { return f.gen.Load() }

// Since reports whether a fence that may concern an entry with that hash was stored after a
// generation. The low 32 bits of the hash are enough. Part is that of its namespace, see
// [PartOf]. If not, an entry that was found clear at the generation, and depends on
// nothing, is still clear; see [Fences.DepsSince] for others. So fences of other keys and of other
// namespaces cost an entry three loads and no write, and fences of tags do not concern it.
//
// Since may miss a fence that is being stored during the call; the store has not returned then. A
// caller that reads a lease before it calls Since misses no fence from before the lease.
func (f *Fences) Since(gen uint64, hash uint32, part uint16) bool {
	return f.wide.Load() > gen || f.last[hash&groupMask].Load() > gen || f.lastPart[part&partMask].Load() > gen
}

// Clear reports whether no fence covers the entry e. Born is the tick of its mark, or a later tick
// at which Clear or [Fences.ClearExact] found it clear. The low 32 bits of the xxHash64 of its full key
// are enough. If the entry is clear, the caller may replace born by the returned tick. A caller
// that notes the generation read before Clear can use [Fences.Since] next time, which is cheaper.
//
// A soft fence does not cover the entry but ends its freshness. Fresh is the time at which the
// newest such fence was applied, in nanoseconds since the origin, or [Forever].
func (f *Fences) Clear(born uint64, hash uint32, e Keyed, d *Deps) (tick uint64, fresh int64, ok bool) {
	// A fence raises one of these two words before the generation. So no fence that the caller's
	// generation counts is missed.
	if f.quiet(born, hash) && f.partsQuiet(born, d) {
		return born, Forever, true
	}
	return f.ClearExact(born, hash, e, d)
}

// ClearNow is Clear for an entry whose key the caller knows, and which it may be about to store. A
// walk that has begun since the tick born may have passed the entry's place. Then the exact
// tables are searched. The entry notes the newest tick, and is not lost.
func (f *Fences) ClearNow(born, hash uint64, key string, d *Deps) (tick uint64, fresh int64, ok bool) {
	low := uint32(hash) //nolint:gosec // the low half is what is wanted
	if f.surveyed.Load() <= born && f.quiet(born, low) && f.partsQuiet(born, d) {
		return born, Forever, true
	}
	return f.check(&suspect{key: key, hash: hash, low: low, born: born, deps: d})
}

// quiet reports whether no fence that may concern the hash was stored after the tick.
func (f *Fences) quiet(tick uint64, hash uint32) bool {
	return f.scoped.Load() <= tick && f.keys[hash&clockMask].Load() <= tick
}

// ClearExact is Clear by the exact tables only. The tick that it returns with a clear entry is the
// newest one.
func (f *Fences) ClearExact(born uint64, hash uint32, e Keyed, d *Deps) (tick uint64, fresh int64, ok bool) {
	return f.check(&suspect{of: e, low: hash, born: born, deps: d})
}

// Overtaken reports whether something marked m has been invalidated since: the value with this key
// that depends on d may be older than a fence. A mark older than forgotten fences counts as overtaken,
// too, unless no key in its bucket was fenced since. Fresh is the same as for [Fences.Clear].
func (f *Fences) Overtaken(m Mark, hash uint64, key string, d *Deps) (fresh int64, overtaken bool) {
	low := uint32(hash) //nolint:gosec // the low half is what is wanted
	if f.quiet(m.Tick, low) && f.partsQuiet(m.Tick, d) {
		return Forever, false
	}
	_, fresh, ok := f.check(&suspect{key: key, hash: hash, low: low, born: m.Tick, deps: d})
	return fresh, !ok
}

// Accepts reports whether a frame of the remote tier is not older than any fence that this process
// knows. Any process may have filled the frame, under the mark m. Positions are comparable within
// one epoch only, so a frame of another epoch than this process's own is refused. The process may
// not have heard of a new epoch yet, or the frame may have outlived its log.
//
// For a frame older than a soft fence, fresh is the time at which the newest such fence was applied
// here; otherwise it is [Forever].
func (f *Fences) Accepts(m Mark, hash uint64, key string, d *Deps) (fresh int64, ok bool) {
	at := f.Cursor()
	if !f.inEpoch(m.Epoch, at) || f.recent.position(hash) > m.Key {
		return Forever, false
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.scopes.refuses(m.Scope, key, d) || f.refusesParts(m.Key, d) {
		return Forever, false
	}
	if fresh, ok = f.soft.frame(m.Scope, hash, key, d); ok {
		f.noteAhead(m, at)
	}
	return fresh, ok
}

// inEpoch reports whether id is the id of the log's epoch, or 0 without a log.
func (f *Fences) inEpoch(id uint64, at invalidate.Cursor) bool {
	if f.from != logged {
		return id == 0
	}
	return (id != 0 && at.Epoch == id) || safeguard.Off(safeguard.Epochs)
}

func (f *Fences) check(s *suspect) (tick uint64, fresh int64, ok bool) {
	s.fresh = Forever
	v, at := f.look(s)
	if v == unspelled && s.spell() { // may run a caller's code, so no lock is held
		v, at = f.look(s)
	}
	if v == forgotten {
		f.given.Add(1)
	}
	return at, s.fresh, v == unfenced
}

// look compares s with every fence that took its tick up to the one that it returns. It reads that
// tick before it locks anything but mu. A key fence with an earlier tick holds the lock of its shard
// until it is stored; no other fence takes a tick while mu is held.
func (f *Fences) look(s *suspect) (v verdict, tick uint64) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	tick = f.tick.Load()
	moved, scoped := f.keys[s.low&clockMask].Load() > s.born, f.scoped.Load() > s.born
	if s.key == "" && (moved || scoped && len(f.scopes.lengths)+len(f.soft.lengths) > 0) {
		return unspelled, tick
	}
	if moved { // otherwise no key of the bucket was fenced since
		v = f.recent.check(s.hash, s.born)
	}
	if s.deps.built() {
		v = max(v, f.checkParts(s))
	}
	if scoped {
		v = max(v, f.scopes.check(s))
	}
	if v == unfenced && f.soft.newest > s.born {
		v = f.soft.check(s, moved)
	}
	return v, tick
}
