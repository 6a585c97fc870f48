package follow

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

const (
	clockBuckets = 1 << 16
	clockMask    = clockBuckets - 1

	// groups is the number of key groups that Since distinguishes. With more groups, a fence causes
	// fewer unrelated entries to be judged again, but the table fits worse into a core's cache. Of
	// 2^8 to 2^18, fewer groups were slower and more were not faster.
	groups    = 1 << 14
	groupMask = groups - 1
)

// Mark is what a process knew before it fetched or loaded something.
type Mark struct {
	Tick  uint64              // fences applied in this process
	Key   invalidate.Position // applied position of the key sequence
	Scope invalidate.Position // applied position of the scope sequence
	Epoch uint64              // the id of the log's epoch; 0: not known, or there is no log
}

// Fences remembers the invalidations that one process has applied.
// Make one with [NewFences], or let a [Follower] make one that follows a log.
// All methods may be called concurrently.
//
// A fence has a position and a tick. The position is its place in the order that all processes
// share; it is compared with what other processes stored. The tick is its place in the order in
// which this process applied fences; it is compared with what this process fetched and loaded. A
// fence that is not in the log, or not yet, has no position, and covers by its tick alone.
//
// Order matters in three places:
//
//   - A fence takes its tick and is stored under one lock. So a reader that holds the
//     lock has seen every fence up to the tick that it reads there.
//   - A reader without the lock notices a prefix or tag fence before it can see the
//     fence's tick. The reader then waits for the lock.
//   - The applied position moves after the fences up to it are stored. So no load is
//     marked as newer than a fence that would not judge it.
//
// Entries of this process are compared with ticks alone. A frame was compared with the positions of
// all stored fences before it became an entry. Its mark was captured before it was fetched, so a
// later fence has a later tick.
type Fences struct {
	gen     atomic.Uint64 // fences that are completely stored
	wide    atomic.Uint64 // gen of the last non-key fence
	_       [48]byte      // hits read the fields above; the fields below are written more often
	tick    atomic.Uint64
	scoped  atomic.Uint64 // tick of the last non-key fence
	settled atomic.Uint64 // every entry was judged at this tick or later; see OnForget
	given   atomic.Int64  // verdicts "forgotten"
	keys    [clockBuckets]atomic.Uint64
	last    [groups]atomic.Uint64 // gen of the last key fence of each group

	origin  time.Time                         // of the times that Clear returns
	from    source                            // of positions
	applied atomic.Pointer[invalidate.Cursor] // with a log: applied without a gap; nil: nothing yet

	recent recentKeys

	// mu protects what follows, up to the blank line. Judges take it shared, and a shard of recent
	// inside it. A non-key fence takes its tick with mu held.
	mu       sync.RWMutex
	scopes   scopeTable
	soft     softTable
	flush    uint64              // entries born before this tick are dead
	floor    invalidate.Position // everything as of an older position is dead
	onForget func()

	settling atomic.Bool // onForget was called, and Settled was not yet
	holds    holds
}

// source is where the positions of fences come from.
type source uint8

const (
	clocked source = iota // the wall clock
	logged                // the log
	none                  // nowhere: no other process stores what they are held against
)

// NewFences returns fences that have seen nothing, and take their positions
// from the clock. Moments that they tell of are counted from origin.
func NewFences(origin time.Time) *Fences {
	f := &Fences{origin: origin, scopes: newScopeTable(), soft: newSoftTable()}
	for i := range f.recent.shards {
		f.recent.shards[i].size = maxBlock / recentShards
	}
	return f
}

// newLoggedFences returns fences that take their positions from a log.
func newLoggedFences(origin time.Time) *Fences {
	f := NewFences(origin)
	f.from = logged
	return f
}

// NewLocalFences returns fences without positions, for entries of this process alone.
func NewLocalFences(origin time.Time) *Fences {
	f := NewFences(origin)
	f.from = none
	return f
}

// Capture returns the mark to note before a fetch or a load begins.
func (f *Fences) Capture() Mark {
	tick := f.tick.Load() // before the position: a fence in between must look newer
	switch f.from {
	case logged:
		c := f.cursor()
		return Mark{Tick: tick, Key: c.Key, Scope: c.Scope, Epoch: c.Epoch}
	case clocked:
		p := presentPosition()
		return Mark{Tick: tick, Key: p, Scope: p}
	default:
		return Mark{Tick: tick}
	}
}

// Tick returns the number of fences applied so far.
func (f *Fences) Tick() uint64 { return f.tick.Load() }

// Fence applies scopes in this process. After it returns, everything that they cover and that was
// marked earlier is dead here. The scopes must have passed Validate.
func (f *Fences) Fence(scopes ...invalidate.Scope) {
	for _, s := range scopes {
		f.store(s.Fence(), f.next())
	}
}

// Apply is Fence for a whole request, with its Hold.
func (f *Fences) Apply(r Request) {
	for _, s := range r.Scopes {
		f.store(r.fence(s), f.next())
	}
}

// next returns the position of a fence that this process makes. A fence takes its position before
// it takes the lock. So of two fences for one scope the older may be stored last; the tables keep
// the newer position.
func (f *Fences) next() invalidate.Position {
	if f.from == clocked {
		return nextPosition()
	}
	return 0
}

// Flush kills everything marked before it, for all keys: in this process, and in frames that other
// processes fill with values loaded earlier.
func (f *Fences) Flush() { f.store(invalidate.All().Fence(), f.next()) }

// store applies one fence at its position, or at 0 if it has none.
func (f *Fences) store(s invalidate.Fence, pos invalidate.Position) {
	if s.Hold > 0 {
		f.holds.add(s)
	}
	var due bool
	switch {
	case s.Soft:
		due = f.storeSoft(s, pos)
	case s.Kind == invalidate.KindKey:
		due = f.storeKey(s.Hash, pos)
	default:
		due = f.storeScope(s, pos)
	}
	if due && !f.settling.Load() {
		f.settleSoon()
	}
}

// stored makes a fence visible to hits: last belongs to a group of keys, or to all entries.
func (f *Fences) stored(last *atomic.Uint64) { raise(last, f.gen.Add(1)) }

func (f *Fences) storeKey(hash uint64, pos invalidate.Position) (due bool) {
	defer f.stored(&f.last[hash&groupMask])
	s := f.recent.of(uint32(hash)) //nolint:gosec // the low half is what is wanted
	s.mu.Lock()
	defer s.mu.Unlock()
	tick := f.tick.Add(1)
	f.keys[hash&clockMask].Store(tick)
	return s.put(hash, fenced{tick: tick, pos: pos}, f.settled.Load())
}

func (f *Fences) storeScope(s invalidate.Fence, pos invalidate.Position) (due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Kind == invalidate.KindAll {
		f.flushLocked(pos)
		return false
	}
	f.announce()
	tick := f.tick.Add(1)
	due = f.scopes.put(s, fenced{tick: tick, pos: pos}, f.settled.Load())
	f.scoped.Store(tick)
	return due
}

// announce sends every reader to the tables, where it waits for mu, before a non-key fence takes
// its tick. Otherwise a load could capture a mark that counts the fence, and then find a cached
// part clear of it. A value built from that part would carry the fenced tag and a mark newer than
// the fence, so the fence would never cover it. mu is held.
func (f *Fences) announce() {
	f.scoped.Store(1<<64 - 1)
	f.stored(&f.wide)
}

// flushLocked kills what was marked before it in this process. With a position it also kills
// everything as of an older position. mu is held.
func (f *Fences) flushLocked(pos invalidate.Position) {
	f.announce()
	f.floor = max(f.floor, pos)
	f.flush = f.tick.Add(1)
	f.scopes.drop(f.floor)
	f.soft.drop(f.floor)
	f.scoped.Store(f.flush)
}

// flushHere kills every entry of this process, but no frame: entries can be fetched again.
func (f *Fences) flushHere() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flushLocked(0)
}

// Held reports whether an invalidation with [invalidate.Hold] covers the key or one of the tags. If
// so, a value that is loaded now must not be cached.
func (f *Fences) Held(hash uint64, key string, tags []uint64) bool {
	return f.holds.n.Load() > 0 && f.holds.cover(hash, key, tags)
}
