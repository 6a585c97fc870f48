package follow

import (
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/internal/safeguard"
)

// Keyed is a cached entry that can spell its full key. It is asked to when its bucket of
// the key clock has moved since it was last judged, or when prefixes are fenced, and by no
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

// Clear reports whether no fence covers the entry e. Born is the tick of its mark, or a
// later one at which Clear or [Fences.Judge] found it clear. The low 32 bits of the
// xxHash64 of its full key will do. When it is clear, the caller may replace born by the
// tick that is returned; and who notes the generation that was read before can ask
// [Fences.Since] next time, which is cheaper.
//
// A soft fence covers it not, but ends its freshness: fresh is the moment at which the
// newest of those was applied, in nanoseconds since the origin, or [Forever].
func (f *Fences) Clear(born uint64, hash uint32, e Keyed, tags []uint64) (tick uint64, fresh int64, ok bool) {
	// A fence raises one of the two before the generation, so that one that the caller's
	// generation counts is not missed.
	if f.quiet(born, hash) {
		return born, Forever, true
	}
	return f.Judge(born, hash, e, tags)
}

// quiet reports whether no fence that may concern the hash was stored after a tick.
func (f *Fences) quiet(tick uint64, hash uint32) bool {
	return f.scoped.Load() <= tick && f.keys[hash&clockMask].Load() <= tick
}

// Judge is Clear by the exact tables alone: the tick that it returns with a clear entry is
// the newest there is.
func (f *Fences) Judge(born uint64, hash uint32, e Keyed, tags []uint64) (tick uint64, fresh int64, ok bool) {
	return f.judge(&suspect{of: e, low: hash, born: born, tags: tags})
}

// Overtaken reports whether something marked m has been invalidated since:
// the value with this key and these tags may be older than a fence. So may one that was
// marked before fences that are forgotten, unless no key in its bucket was fenced since.
// Fresh says, as that of [Fences.Clear] does, until when nothing soft had overtaken it.
func (f *Fences) Overtaken(m Mark, hash uint64, key string, tags []uint64) (fresh int64, overtaken bool) {
	low := uint32(hash) //nolint:gosec // the low half is what is wanted
	if f.quiet(m.Tick, low) {
		return Forever, false
	}
	_, fresh, ok := f.judge(&suspect{key: key, hash: hash, low: low, born: m.Tick, tags: tags})
	return fresh, !ok
}

// Accepts reports whether a frame from the remote tier, filled under the mark m by
// whatever process, is older than no fence this process knows. Positions mean something
// within one epoch only, so a frame of an epoch that is not this process's own is
// refused: the process may not have heard of a new epoch yet, or the frame may have
// outlived its log. Of a frame that is older than a soft fence, fresh is the moment at which
// the newest of those was applied here; of others [Forever].
func (f *Fences) Accepts(m Mark, hash uint64, key string, tags []uint64) (fresh int64, ok bool) {
	if !f.inEpoch(m.Epoch) || f.recent.position(hash) > m.Key {
		return Forever, false
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if m.Scope < f.floor || f.scopes.refuses(m.Scope, key, tags) {
		return Forever, false
	}
	return f.soft.frame(m.Scope, hash, key, tags)
}

// inEpoch reports whether an id is that of the log's epoch, or 0 without a log.
func (f *Fences) inEpoch(id uint64) bool {
	if f.from != logged {
		return id == 0
	}
	return (id != 0 && f.cursor().Epoch == id) || safeguard.Off(safeguard.Epochs)
}

// verdict is what the fences say of something; a higher one overrules a lower.
type verdict uint8

const (
	unfenced  verdict = iota // no fence covers it
	unspelled                // its key is to be spelled first
	forgotten                // a fence that is no longer remembered may cover it
	covered
)

// suspect is something of this process that a fence may cover.
type suspect struct {
	born uint64
	key  string // with hash; "": of says, when it is asked
	hash uint64
	of   Keyed
	low  uint32 // of hash
	tags []uint64

	fresh int64 // when the newest soft fence that covers it was applied; Forever
}

// spell makes sure that the key is known, if it can be.
func (s *suspect) spell() bool {
	if s.key == "" && s.of != nil {
		s.key = s.of.FullKey()
		s.hash = xxhash.Sum64String(s.key)
	}
	return s.key != ""
}

func (f *Fences) judge(s *suspect) (tick uint64, fresh int64, ok bool) {
	s.fresh = Forever
	v, at := f.look(s)
	if v == unspelled && s.spell() { // a caller's code may spell it, so no lock is held
		v, at = f.look(s)
	}
	if v == forgotten {
		f.given.Add(1)
	}
	return at, s.fresh, v == unfenced
}

// look holds every fence that was stored up to a tick, and no later one, against s. All
// that could concern it have taken their ticks under the two locks that it holds.
func (f *Fences) look(s *suspect) (v verdict, tick uint64) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	keys := f.recent.of(s.low)
	keys.mu.Lock()
	defer keys.mu.Unlock()
	tick = f.tick.Load()
	moved, scoped := f.keys[s.low&clockMask].Load() > s.born, f.scoped.Load() > s.born
	if s.key == "" && (moved || scoped && len(f.scopes.lengths)+len(f.soft.scopes.lengths) > 0) {
		return unspelled, tick
	}
	if moved { // else no key of the bucket was fenced since
		v = keys.judge(s.hash, s.born)
	}
	if scoped {
		v = max(v, f.judgeScopes(s))
	}
	if v == unfenced && f.soft.newest > s.born {
		v = f.soft.judge(s, moved)
	}
	return v, tick
}

// judgeScopes is look for the fences that are no key's. mu is held.
func (f *Fences) judgeScopes(s *suspect) verdict {
	if f.flush > s.born {
		return covered
	}
	return f.scopes.judge(s)
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
