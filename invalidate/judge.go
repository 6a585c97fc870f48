package invalidate

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/safeguard"
)

// Stamp is what a cached entry is held against when fences are asked about it.
type Stamp struct {
	Born uint64   // Mark.Tick
	AsOf Position // position the value is as of: Mark.Scope, or the frame's
}

// Keyed is a cached entry that can spell its full key. It is asked to when its bucket of
// the key clock has moved since it was marked, or when prefixes are fenced, and by no
// question that Since can answer; so it need not keep the spelling.
type Keyed interface {
	// FullKey returns the entry's full key, the same every time. Of an entry that
	// cannot tell, by "", the worst is believed: it counts as covered.
	FullKey() string
}

// Generation counts the fences stored so far, of whatever kind. What was found
// clear at a generation is clear for as long as it lasts; a caller that keeps
// it reads it before it checks. At generation 0 everything is clear.
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

// Clear reports whether no fence covers the entry e with that stamp. The low 32 bits of
// the xxHash64 of its full key will do. Whoever notes the generation that was read before
// can ask [Fences.Since] next time, which is cheaper.
func (f *Fences) Clear(s Stamp, hash uint32, e Keyed, tags []uint64) bool {
	// A fence raises one of the two before the generation, so that one that the caller's
	// generation counts is not missed.
	if f.ver.Load() == 0 && f.keys[hash&clockMask].Load() <= s.Born {
		return true
	}
	return !f.covers(suspect{of: e, low: hash, Stamp: s, tags: tags})
}

// Overtaken reports whether something marked m has been invalidated since:
// the value with this key and these tags may be older than a fence.
func (f *Fences) Overtaken(m Mark, hash uint64, key string, tags []uint64) bool {
	if f.tick.Load() == m.Tick {
		return false
	}
	return f.covers(suspect{key: key, hash: hash, low: uint32(hash), Stamp: Stamp{m.Tick, m.Scope}, tags: tags}) //nolint:gosec // the low half is what is wanted
}

// Accepts reports whether a frame from the remote tier, filled under the mark m by
// whatever process, is older than no fence this process knows. Positions mean something
// within one epoch only, so a frame of an epoch that is not this process's own is
// refused: the process may not have heard of a new epoch yet, or the frame may have
// outlived its log.
func (f *Fences) Accepts(m Mark, hash uint64, key string, tags []uint64) bool {
	const fetchedNow = 1<<64 - 1 // ticks say nothing about what others stored
	if !f.inEpoch(m.Epoch) || f.recent.position(hash) > m.Key {
		return false
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	return m.Scope >= f.floor && !f.scopes.covers(m.Scope, fetchedNow, key, tags)
}

// inEpoch reports whether an id is that of the log's epoch, or 0 without a log.
func (f *Fences) inEpoch(id uint64) bool {
	if !f.logged {
		return id == 0
	}
	return (id != 0 && f.cursor().Epoch == id) || safeguard.Off(safeguard.Epochs)
}

// suspect is something of this process that a fence may cover.
type suspect struct {
	Stamp
	key  string // with hash; "": as of says, when it is asked
	hash uint64
	of   Keyed
	low  uint32 // of hash
	tags []uint64
}

// spell makes sure that the key is known, if it can be.
func (s *suspect) spell() bool {
	if s.key == "" && s.of != nil {
		s.key = s.of.FullKey()
		s.hash = xxhash.Sum64String(s.key)
	}
	return s.key != ""
}

func (f *Fences) covers(s suspect) bool {
	// A bucket is raised behind the table, so one that is not above the entry's birth
	// has no fence for it, but for one that is being stored at this moment.
	if bucket := f.keys[s.low&clockMask].Load(); bucket > s.Born {
		if !s.spell() || f.recent.covers(s.hash, s.Born, bucket) {
			return true
		}
	}
	return f.ver.Load() > 0 && f.coversWide(&s)
}

// coversWide is covers for the fences that are no key's.
func (f *Fences) coversWide(s *suspect) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if s.AsOf < f.floor || f.flush.Load() > s.Born {
		return true
	}
	if len(f.scopes.lengths) > 0 && !s.spell() {
		return true
	}
	return f.scopes.covers(s.AsOf, s.Born, s.key, s.tags)
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
