package invalidate

import (
	"sync"
	"sync/atomic"
)

const (
	clockBuckets = 1 << 16
	clockMask    = clockBuckets - 1

	// groups is how many groups of keys are told apart by Since. With more of them a
	// fence sends fewer others to be judged anew, and a look at them finds less of them
	// in a core's own cache; of 2^8 to 2^18, fewer were slower and more no faster.
	groups    = 1 << 14
	groupMask = groups - 1

	// maxScopes bounds the table of scope fences. When it is full, what is as of its
	// older half is given up.
	maxScopes = 100_000
)

// Mark is what a process knew before it fetched or loaded something.
type Mark struct {
	Tick  uint64   // fences applied in this process
	Key   Position // applied position of the key sequence
	Scope Position // applied position of the scope sequence
	Epoch uint64   // the id of the log's epoch; 0: not known, or there is no log
}

// Fences is what one process remembers of the invalidations it has applied.
// Make one with [NewFences], or let a [Follower] make one that follows a log.
// All methods may be called concurrently.
//
// A fence carries two things. Its position is its place in the order that all
// processes share: it is held against what other processes stored. Its tick is
// its place in the order in which this process applied fences: it is held
// against what this process fetched and loaded. A fence that is not in the log,
// or not yet, has no position, and covers by its tick alone.
//
// Order matters in three places. A fence takes its tick before it is stored
// anywhere, so an entry marked later is never blamed for it. The generation is
// bumped after the fence is stored, so that a reader that sees it finds the
// fence behind it; only then is it noted for whom, so that who is told so finds
// it, too. And the applied position moves after the fences up to it are
// stored, so that nobody is marked with what he would not be judged by.
type Fences struct {
	gen   atomic.Uint64 // fences stored, each in full
	wide  atomic.Uint64 // gen of the last one that was no key's
	_     [48]byte      // read by every hit; the rest is written more often than they
	tick  atomic.Uint64
	ver   atomic.Uint64 // how often what mu protects has changed
	flush atomic.Uint64 // entries born before this tick are dead
	keys  [clockBuckets]atomic.Uint64
	last  [groups]atomic.Uint64 // gen of the last key fence of each group

	logged  bool                   // positions come from a log
	applied atomic.Pointer[Cursor] // with a log: applied without a gap; nil: nothing yet

	recent recentKeys

	// mu protects the table below; readers of entries take it shared, and
	// only when there was a fence that was no key's.
	mu     sync.RWMutex
	scopes scopeTable
	floor  Position // whatever is as of an older position is dead

	holds holds
}

// NewFences returns fences that have seen nothing, and take their positions
// from the clock.
func NewFences() *Fences {
	return &Fences{scopes: newScopeTable()}
}

// newLoggedFences returns fences that take their positions from a log.
func newLoggedFences() *Fences {
	f := NewFences()
	f.logged = true
	return f
}

// Capture returns the mark to write down before a fetch or a load begins.
func (f *Fences) Capture() Mark {
	tick := f.tick.Load() // before the position: a fence in between must look newer
	if f.logged {
		c := f.cursor()
		return Mark{Tick: tick, Key: c.Key, Scope: c.Scope, Epoch: c.Epoch}
	}
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
		f.store(s.Fence(), f.next())
	}
}

// Apply is Fence for a whole request: it keeps its Hold as well.
func (f *Fences) Apply(r Request) {
	for _, s := range r.Scopes {
		fence := s.Fence()
		fence.Hold = r.Hold
		f.store(fence, f.next())
	}
}

// next returns the position of a fence of this process's own. A fence takes it
// before it takes the lock, so of two for one scope the older may arrive last;
// the tables keep the newer position.
func (f *Fences) next() Position {
	if f.logged {
		return 0
	}
	return nextPosition()
}

// Flush kills everything marked before it, whatever its key, here and in
// frames that other processes fill from what they loaded before.
func (f *Fences) Flush() { f.store(All().Fence(), f.next()) }

// store applies one fence at its position, 0 when it has none.
func (f *Fences) store(s Fence, pos Position) {
	if s.Hold > 0 {
		f.holds.add(s)
	}
	if s.Kind == KindKey {
		f.storeKey(s.Hash, pos)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Kind == KindPrefix && s.Len == 0 {
		f.flushLocked(pos)
	} else {
		f.scopes.put(s, scopeFence{pos: pos, tick: f.tick.Add(1)})
		if f.scopes.len() > maxScopes {
			f.flushLocked(f.scopes.median())
		}
	}
	f.ver.Add(1)
	f.stored(&f.wide)
}

// stored ends the storing of a fence: of the last one of a group, or of one that may
// concern any entry.
func (f *Fences) stored(last *atomic.Uint64) { raise(last, f.gen.Add(1)) }

func (f *Fences) storeKey(hash uint64, pos Position) {
	tick := f.tick.Add(1)
	f.recent.put(hash, keyFence{tick: tick, pos: pos})
	// After the table, so that a reader sent there by its bucket finds the fence.
	raise(&f.keys[hash&clockMask], tick)
	f.stored(&f.last[hash&groupMask])
}

// flushLocked kills what was marked before it here and, with a position,
// whatever is as of an older one. mu is held.
func (f *Fences) flushLocked(pos Position) {
	f.floor = max(f.floor, pos)
	f.flush.Store(f.tick.Add(1))
	f.scopes.forget(f.floor)
}

// flushHere kills every entry of this process, and no frame: they can be
// fetched again.
func (f *Fences) flushHere() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushLocked(0)
	f.ver.Add(1)
	f.stored(&f.wide)
}

// Held reports whether an invalidation with [Hold] covers the key or one of the
// tags, so that what is loaded now is not to be cached.
func (f *Fences) Held(hash uint64, key string, tags []uint64) bool {
	return f.holds.n.Load() > 0 && f.holds.cover(hash, key, tags)
}
