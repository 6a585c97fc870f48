package invalidate

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"
)

const (
	clockBuckets = 1 << 16
	clockMask    = clockBuckets - 1

	// maxRecent bounds the exact table of key fences, maxScopes the table of
	// scope fences. What falls out of the first is judged by its bucket alone;
	// when the second is full everything older is given up at once.
	maxRecent = 1 << 16
	maxScopes = 100_000
)

// Mark is what a process knew before it fetched or loaded something.
type Mark struct {
	Tick  uint64   // fences applied in this process
	Key   Position // applied position of the key log
	Scope Position // applied position of the scope log
}

// Fences is what one process remembers of the invalidations it has applied.
// Make one with [NewFences]. All methods may be called concurrently.
//
// A fence takes its position before it takes the lock, so of two for one scope
// the older may arrive last; the tables keep the newer position.
//
// Order matters in two places, and only there. A fence takes its tick before
// it is stored anywhere, so an entry marked later is never blamed for it. And
// the generation is bumped after everything else of the fence is stored, so
// that a reader that sees it finds the fence behind it.
type Fences struct {
	gen   atomic.Uint64 // fences stored, each in full
	_     [56]byte      // read by every hit; the rest is written more often than it
	tick  atomic.Uint64
	ver   atomic.Uint64 // version of what mu protects; also bumped by a flush
	flush atomic.Uint64 // entries born before this tick are dead
	keys  [clockBuckets]atomic.Uint64

	// mu protects the tables below; readers of entries take it shared, and
	// only when a fence made them look.
	mu      sync.RWMutex
	recent  map[uint64]keyFence // exact key fences, the newest maxRecent
	ring    []uint64            // their hashes in order of age, from head
	head    int                 // oldest in ring
	evicted uint64              // tick of the newest fence that fell out of recent
	tags    map[uint64]Position // newest fence of each tag
	prefix  map[uint64]Position // newest fence of each prefix
	lengths []int               // lengths of the fenced prefixes, ascending
	floor   Position            // whatever is as of an older position is dead
}

type keyFence struct {
	tick uint64
	pos  Position
}

// NewFences returns fences that have seen nothing.
func NewFences() *Fences {
	return &Fences{
		recent: make(map[uint64]keyFence),
		tags:   make(map[uint64]Position),
		prefix: make(map[uint64]Position),
	}
}

// Capture returns the mark to write down before a fetch or a load begins.
func (f *Fences) Capture() Mark {
	tick := f.tick.Load() // before the position: a fence in between must look newer
	p := presentPosition()
	return Mark{Tick: tick, Key: p, Scope: p}
}

// Tick returns the number of fences applied so far.
func (f *Fences) Tick() uint64 { return f.tick.Load() }

// Fence applies scopes in this process: from its return on, everything they
// cover whose mark was captured before is dead here. Scopes are expected to
// have passed Validate.
func (f *Fences) Fence(scopes ...Scope) {
	for _, s := range scopes {
		switch s.kind {
		case KindKey:
			f.fenceKey(s.Hash(), nextPosition())
		case KindPrefix:
			f.fencePrefix(s, nextPosition())
		case KindTag:
			f.fenceTag(s.Hash(), nextPosition())
		}
	}
}

func (f *Fences) fenceKey(hash uint64, pos Position) {
	f.mu.Lock()
	tick := f.tick.Add(1)
	if _, known := f.recent[hash]; !known {
		f.remember(hash)
	}
	f.recent[hash] = keyFence{tick: tick, pos: max(pos, f.recent[hash].pos)}
	f.mu.Unlock()
	// After the table, so that a reader sent there by its bucket finds the fence.
	raise(&f.keys[hash&clockMask], tick)
	f.gen.Add(1)
}

// remember makes room for hash in the exact table. A key that is fenced again
// keeps its place in the ring: it may fall out early, and is then judged by its
// bucket, which errs on the side of a reload. mu is held.
func (f *Fences) remember(hash uint64) {
	if len(f.ring) < maxRecent {
		f.ring = append(f.ring, hash)
		return
	}
	old := f.ring[f.head]
	f.evicted = max(f.evicted, f.recent[old].tick)
	delete(f.recent, old)
	f.ring[f.head] = hash
	f.head = (f.head + 1) % maxRecent
}

func (f *Fences) fencePrefix(s Scope, pos Position) {
	if s.text == "" {
		f.Flush()
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tick.Add(1)
	f.prefix[s.Hash()] = max(pos, f.prefix[s.Hash()])
	if i, found := slices.BinarySearch(f.lengths, len(s.text)); !found {
		f.lengths = slices.Insert(f.lengths, i, len(s.text))
	}
	f.scoped(pos)
}

func (f *Fences) fenceTag(hash uint64, pos Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tick.Add(1)
	f.tags[hash] = max(pos, f.tags[hash])
	f.scoped(pos)
}

// scoped bounds the scope table and publishes the change. mu is held.
func (f *Fences) scoped(pos Position) {
	if len(f.tags)+len(f.prefix) > maxScopes {
		f.floor = max(f.floor, pos)
		clear(f.tags)
		clear(f.prefix)
		f.lengths = nil
	}
	f.ver.Add(1)
	f.gen.Add(1)
}

// Flush kills everything marked before it, whatever its key, here and in
// frames that other processes fill from what they loaded before.
func (f *Fences) Flush() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.floor = max(f.floor, nextPosition())
	f.flush.Store(f.tick.Add(1))
	clear(f.tags)
	clear(f.prefix)
	f.lengths = nil
	f.ver.Add(1)
	f.gen.Add(1)
}

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
	f.mu.RLock()
	dead := f.keyFenced(s.Hash, s.Born) || f.flush.Load() > s.Born || f.scopeFenced(s.AsOf, key, tags)
	f.mu.RUnlock()
	if dead {
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
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.keyFenced(hash, m.Tick) || f.flush.Load() > m.Tick || f.scopeFenced(m.Scope, key, tags)
}

// Accepts reports whether a frame from the remote tier, as of the given
// positions, is older than no fence this process knows.
func (f *Fences) Accepts(keyPos, scopePos Position, hash uint64, key string, tags []uint64) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.recent[hash].pos <= keyPos && !f.scopeFenced(scopePos, key, tags)
}

// keyFenced reports whether the key was fenced after tick. A key unknown to the
// exact table may have fallen out of it, so nothing older than the newest loss
// is believed unless its bucket vouches for it. mu is held.
func (f *Fences) keyFenced(hash, tick uint64) bool {
	if k, ok := f.recent[hash]; ok {
		return k.tick > tick
	}
	return f.evicted > tick && f.keys[hash&clockMask].Load() > tick
}

// scopeFenced reports whether a prefix of key or one of tags was fenced after
// asOf. One incremental hash pass serves every prefix length. mu is held.
func (f *Fences) scopeFenced(asOf Position, key string, tags []uint64) bool {
	if asOf < f.floor {
		return true
	}
	for _, t := range tags {
		if f.tags[t] > asOf {
			return true
		}
	}
	if len(f.lengths) == 0 {
		return false
	}
	var d xxhash.Digest
	d.Reset()
	done := 0
	for _, n := range f.lengths {
		if n > len(key) {
			break
		}
		_, _ = d.WriteString(key[done:n]) // documented never to fail
		done = n
		if f.prefix[d.Sum64()] > asOf {
			return true
		}
	}
	return false
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
