package fence

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

const (
	clockBuckets = 1 << 16
	clockMask    = clockBuckets - 1

	// groups is the number of groups of keys, and of tags, that Since distinguishes. With more groups, a fence causes
	// fewer unrelated entries to be checked again, but the table fits worse into a core's cache. Of
	// 2^8 to 2^18, fewer groups were slower and more were not faster.
	groups    = 1 << 14
	groupMask = groups - 1

	parts    = 1 << 10 // the number of parts of a prefix that Since distinguishes
	partMask = parts - 1
)

// Mark is what a process knew before it fetched or loaded something.
type Mark struct {
	Tick  uint64              // fences applied in this process
	Key   invalidate.Position // applied position of the key sequence
	Scope invalidate.Position // applied position of the scope sequence
	Epoch uint64              // the id of the log's epoch; 0: not known, or there is no log
}

// Fences remembers the invalidations that one process has applied.
// Make one with [New], [NewLogged] or [NewLocal].
// All methods may be called concurrently.
//
// A fence has a position and a tick. The position is its place in the order that all processes
// share; it is compared with what other processes stored. The tick is its place in the order in
// which this process applied fences; it is compared with what this process fetched and loaded. A
// fence that is not in the log, or not yet, has no position, and covers only by its tick.
//
// Order matters in three places:
//
//   - A fence takes its tick and is stored under one lock. So a reader that holds the
//     lock has seen every fence up to the tick that it reads there.
//   - A reader without the lock notices a prefix or tag fence before it can see the
//     fence's tick. The reader then waits for the lock.
//   - The applied position moves after the fences up to it are stored. So no load is
//     marked as newer than a fence that is not stored yet.
//
// Entries of this process are compared only with ticks. A frame was compared with the positions of
// all stored fences before it became an entry. Its mark was captured before it was fetched, so a
// later fence has a later tick.
type Fences struct {
	gen      atomic.Uint64 // fences that are completely stored
	wide     atomic.Uint64 // gen of the last fence of everything, or of a prefix without a part
	prefixed atomic.Uint64 // gen of the last fence of any prefix
	tagged   atomic.Uint64 // gen of the last fence of any tag
	_        [32]byte      // hits read the fields above; the fields below are written more often
	tick     atomic.Uint64
	scoped   atomic.Uint64 // tick of the last non-key fence
	settled  atomic.Uint64 // every entry was checked at this tick or later; see OnForget
	surveyed atomic.Uint64 // tick of the latest Survey
	given    atomic.Int64  // verdicts "forgotten"
	keys     [clockBuckets]atomic.Uint64
	last     [groups]atomic.Uint64 // gen of the last key fence of each group
	lastTags [groups]atomic.Uint64 // gen of the last tag fence of each group
	lastPart [parts]atomic.Uint64  // gen of the last prefix fence of each part

	origin   time.Time                         // of the times that Clear returns
	patience time.Duration                     // the longest wait of one call; see Await
	block    int                               // scopes in a block of a small tier
	page     patience                          // while a page is applied; see Follow
	from     source                            // of positions
	applied  atomic.Pointer[invalidate.Cursor] // with a log: applied without a gap; nil: nothing yet
	ahead    atomic.Pointer[invalidate.Cursor] // the highest positions of frames that were above it; see noteAhead

	recent recentKeys

	// mu protects what follows, up to the blank line. A check holds it for reading, and inside it the
	// lock of a shard of recent. A non-key fence takes its tick with mu held.
	mu       sync.RWMutex
	scopes   scopeTable
	soft     softTable
	keyFloor invalidate.Position // of the key sequence: not all keys fenced before are known
	onForget func()

	settling atomic.Bool // onForget was called, and Settled was not yet
	crowd    crowd       // writers that wait for Settled
}

// source is where the positions of fences come from.
type source uint8

const (
	clocked source = iota // the wall clock
	logged                // the log
	none                  // nowhere: no other process stores entries that are compared with them
)

// New returns fences that have seen nothing, and take their positions
// from the clock. Times that they return are counted from origin.
func New(origin time.Time) *Fences {
	f := &Fences{origin: origin, patience: maxWait, block: maxBlock}
	f.Expect(0)
	return f
}

// NewLogged returns fences that take their positions from a log. One call of Await waits for the
// time patience at most.
func NewLogged(origin time.Time, patience time.Duration) *Fences {
	f := New(origin)
	f.from, f.patience = logged, patience
	return f
}

// NewLocal returns fences without positions, for entries that only this process stores.
func NewLocal(origin time.Time) *Fences {
	f := New(origin)
	f.from = none
	return f
}

// Capture returns the mark to note before a fetch or a load begins.
func (f *Fences) Capture() Mark {
	tick := f.tick.Load() // before the position: a fence in between must look newer
	switch f.from {
	case logged:
		c := f.Cursor()
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

// FenceKey applies a fence of the key with that hash. After it returns, the entries of the key that were
// marked earlier are dead here. FenceKey does not wait; call [Fences.Await] first, without a lock.
func (f *Fences) FenceKey(hash uint64) {
	f.StoreHashed(Hashed{Kind: invalidate.KindKey, Hash: hash}, f.next())
}

// Apply applies a request in this process. After it returns, everything that the scopes
// cover and that was marked earlier is dead here. The scopes must have passed Validate. Apply waits as
// [Fences.Await] does.
func (f *Fences) Apply(r Request) { f.ApplyWithin(context.Background(), r) }

// ApplyWithin is Apply for a call that does not wait when ctx has ended. It applies r nevertheless.
// A call with many scopes may wait again for each thousand of them.
func (f *Fences) ApplyWithin(ctx context.Context, r Request) {
	var p patience
	for i, s := range r.Scopes {
		if i%1024 == 0 {
			p = patient(ctx)
		}
		f.await(&p)
		f.Store(r.fence(s), f.next())
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

// StoreHashed is Store for what the tables keep of a fence.
func (f *Fences) StoreHashed(s Hashed, pos invalidate.Position) {
	var due bool
	if s.Kind == invalidate.KindKey && !s.Soft {
		due = f.storeKey(&s, pos)
	} else {
		due = f.storeLocked(&s, pos)
	}
	if due && !f.settling.Load() {
		f.settleSoon()
	}
}

// stored makes a fence visible to hits: each of last belongs to a group of keys or tags, or to all
// entries.
func (f *Fences) stored(last ...*atomic.Uint64) {
	gen := f.gen.Add(1)
	for _, l := range last {
		raise(l, gen)
	}
}

// storeKey applies a fence of a key. Readers notice a soft one by the key's bucket, too; mu is held for
// it.
func (f *Fences) storeKey(s *Hashed, pos invalidate.Position) (due bool) {
	keys := f.recent.of(uint32(s.Hash)) //nolint:gosec // the low half is what is wanted
	keys.mu.Lock()
	defer keys.mu.Unlock()
	now := f.before(s)
	f.announceKey(s.Hash)
	tick := f.tick.Add(1)
	f.keys[s.Hash&clockMask].Store(tick)
	if s.Soft {
		return f.putSoft(s, fenced{tick, pos}, now)
	}
	due = keys.put(s.Hash, fenced{tick, pos}, f.settled.Load())
	f.urge(keys.urgent)
	return due
}

// storeLocked is Store for a fence that takes its tick with mu held: any but a hard one of a key.
func (f *Fences) storeLocked(s *Hashed, pos invalidate.Position) (due bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s.Kind == invalidate.KindKey {
		return f.storeKey(s, pos)
	}
	return f.storeScope(s, pos)
}

// storeScope applies another fence. A fence of everything covers what was marked before it in this
// process. With a position it also covers everything as of an older position. mu is held.
func (f *Fences) storeScope(s *Hashed, pos invalidate.Position) (due bool) {
	now := f.before(s)
	f.announce(s)
	tick := f.tick.Add(1)
	if s.Soft {
		due = f.putSoft(s, fenced{tick, pos}, now)
	} else {
		due = f.scopes.put(s, fenced{tick, pos}, f.settled.Load())
		f.urge(f.scopes.urgent())
		if s.Kind == invalidate.KindAll {
			f.scopes.drop(f.scopes.all.pos)
			f.soft.drop(f.scopes.all.pos)
			raise(&f.settled, tick) // older entries are dead, so they need not be checked
		}
	}
	f.scoped.Store(tick)
	return due
}

// before returns the time for a fence that is about to take its tick. Only soft fences have one.
func (f *Fences) before(s *Hashed) int64 {
	if !s.Soft {
		return 0
	}
	return f.Now()
}

// putSoft notes a soft fence. mu is held.
func (f *Fences) putSoft(s *Hashed, at fenced, now int64) (due bool) {
	due = f.soft.put(s, at, now, f.settled.Load())
	f.urge(f.soft.urgent())
	return due
}

// announce sends every reader to the tables, where it waits for mu, before a non-key fence takes
// its tick. Otherwise a load could capture a mark that counts the fence, and then find a cached
// part clear of it. A value built from that part would carry the fenced tag and a mark newer than
// the fence, so the fence would never cover it. Entries without the tag of a tag fence need not look,
// and neither do those of other namespaces than a prefix covers.
// mu is held.
func (f *Fences) announce(s *Hashed) {
	f.scoped.Store(1<<64 - 1)
	switch {
	case s.Kind == invalidate.KindTag:
		f.stored(&f.lastTags[s.Hash&groupMask], &f.tagged)
	case s.Kind == invalidate.KindPrefix && s.Len == builtLen: // of built values only
		f.stored(&f.prefixed)
	case s.Kind == invalidate.KindPrefix && s.Part > 0:
		f.stored(&f.lastPart[s.Part&partMask], &f.prefixed)
	default:
		f.stored(&f.wide, &f.prefixed)
	}
}

// announceKey is announce for a key fence. The lock of the key's shard is held.
func (f *Fences) announceKey(hash uint64) {
	f.keys[hash&clockMask].Store(1<<64 - 1)
	f.stored(&f.last[hash&groupMask])
}

// Now returns the time since the origin, in nanoseconds.
func (f *Fences) Now() int64 { return int64(time.Since(f.origin)) }
