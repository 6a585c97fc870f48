package fence

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/cespare/xxhash/v2"

	"github.com/twofold-go/twofold/invalidate"
)

// Mark is what a process knew before it fetched or loaded something.
type Mark struct {
	Tick  uint64              // invalidations applied in this process
	Key   invalidate.Position // applied position of the key sequence
	Scope invalidate.Position // applied position of the scope sequence
	Epoch uint64              // the id of the log's epoch; 0: not known, or there is no log
}

// Forever is a time that never comes: no Expire has ended the freshness.
const Forever = int64(1<<63 - 1)

// An invalidation is hard, an Expire is soft.
const (
	hard = iota
	soft
)

func kindOf(isSoft bool) int {
	if isSoft {
		return soft
	}
	return hard
}

const shards = 64

// Fences applies invalidations in one process. Make one with [New], [NewLogged] or [NewLocal]. All methods
// may be called concurrently. The package comment explains how it works.
type Fences struct {
	tick    atomic.Uint64
	opened  atomic.Uint64                     // namespaces that were opened
	origin  time.Time                         // of the times that are returned
	from    source                            // of positions
	applied atomic.Pointer[invalidate.Cursor] // with a log: applied without a gap; nil: nothing yet
	ahead   atomic.Pointer[invalidate.Cursor] // the highest positions of frames that were above it; see noteAhead
	given   atomic.Int64                      // loads and frames that were refused because of what is forgotten
	shards  [shards]shard
	anyTag  many // for entries with more tags than they can name
	anyKey  many // for values with more parts than they can name

	mu       sync.RWMutex                                  // protects what follows, and what a Namespace says
	open     map[string]map[string]weak.Pointer[Namespace] // by tenant and name
	left     int                                           // tenants that have left open since it was made
	all      [2]stamp                                      // the last invalidation and the last Expire of everything
	keyFloor invalidate.Position                           // of the key sequence: not all keys invalidated before are known
}

// source is where the positions of invalidations come from.
type source uint8

const (
	clocked source = iota // the wall clock
	logged                // the log
	none                  // nowhere: no other process stores entries that are compared with them
)

// New returns fences that have seen nothing, and take their positions from the clock. Times that they
// return are counted from origin.
func New(origin time.Time) *Fences {
	return &Fences{origin: origin, open: map[string]map[string]weak.Pointer[Namespace]{}}
}

// NewLogged returns fences that take their positions from a log.
func NewLogged(origin time.Time) *Fences {
	f := New(origin)
	f.from = logged
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
	m := Mark{Tick: f.tick.Load()} // before the position: what comes in between must look newer
	switch f.from {
	case logged:
		c := f.Cursor()
		m.Key, m.Scope, m.Epoch = c.Key, c.Scope, c.Epoch
	case clocked:
		m.Key = presentPosition()
		m.Scope = m.Key
	case none:
	}
	return m
}

// Tick returns the number of invalidations applied so far.
func (f *Fences) Tick() uint64 { return f.tick.Load() }

// Now returns the time since the origin, in nanoseconds.
func (f *Fences) Now() int64 { return int64(time.Since(f.origin)) }

// Apply applies a request in this process. After it returns, everything that the scopes cover and that was
// marked earlier is dead here. The scopes must have passed Validate.
func (f *Fences) Apply(r Request) {
	for _, s := range r.Scopes {
		f.Store(invalidate.Fence{Scope: s, Soft: r.Soft}, f.next())
	}
}

// next returns the position of an invalidation that this process makes. It takes the position before the
// lock, so of two for one scope the older one may be applied last.
func (f *Fences) next() invalidate.Position {
	if f.from == clocked {
		return nextPosition()
	}
	return 0
}

// Store applies one invalidation at its position, or at 0 if it has none.
func (f *Fences) Store(s invalidate.Fence, pos invalidate.Position) {
	switch s.Scope.Kind() {
	case invalidate.KindKey:
		f.storeKey(s.Scope.Text(), s.Scope.Hash(), s.Soft, pos)
	case invalidate.KindTag:
		f.storeNode(ofTag, s.Scope.Hash(), s.Soft, pos, nil, nil)
	case invalidate.KindPrefix:
		f.storePrefix(s.Scope.Text(), s.Soft, pos)
	case invalidate.KindAll:
		f.storeAll(s.Soft, pos)
	}
}

// Replace is Store of a key for a caller that is about to store a newer entry. end ends the older one.
func (f *Fences) Replace(hash uint64, end func()) {
	f.storeNode(ofKey, hash, false, f.next(), func(int64) bool { end(); return true }, nil)
}

// storeNode applies the invalidation of a scope that may have a node. What it says is announced before the
// tick is taken, and the entry of a key is ended before that: a load whose mark counts an invalidation must
// not find a part that it covers. before and after run around the tick, with the time of the invalidation
// and with its stamp. If before returns false, nothing is done.
func (f *Fences) storeNode(k kind, hash uint64, isSoft bool, pos invalidate.Position, before func(at int64) bool, after func(stamp)) bool {
	id := idOf(k, hash)
	s := f.of(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := f.Now()
	if before != nil && !before(at) {
		return false
	}
	n, all := s.nodes.get(id), f.manyOf(k)
	if n != nil {
		n.set(announced, isSoft, at)
	}
	told := all.announce(isSoft, at)
	now := stamp{f.tick.Add(1), pos, at}
	if n != nil {
		n.set(now.tick, isSoft, at)
	}
	if told {
		all.set(now.tick, isSoft, at)
	}
	if after != nil {
		after(now)
	}
	if isSoft {
		s.soft.note(id, now, mostSoft)
	} else {
		s.hard[k].note(id, now, most[k])
	}
	return true
}

func (f *Fences) of(id uint64) *shard { return &f.shards[id%shards] }

// storeKey ends the entry of the key here. Its namespace is looked up before the shard is locked, because a
// namespace that opens looks into the shards. If one opens in between, it is looked up again.
func (f *Fences) storeKey(text string, hash uint64, isSoft bool, pos invalidate.Position) {
	for done := false; !done; {
		opened := f.opened.Load()
		n := f.holding(text)
		done = f.storeNode(ofKey, hash, isSoft, pos, func(at int64) bool {
			switch {
			case f.opened.Load() != opened:
				return false
			case n == nil:
			case isSoft:
				n.owner.EndKey(text[len(n.stem):], at)
			default:
				n.owner.EndKey(text[len(n.stem):], Forever)
			}
			return true
		}, nil)
	}
}

// holding returns the open namespace that finds the key with that text, or nil. No id has a colon: package
// key spells it as %3A.
func (f *Fences) holding(text string) *Namespace {
	tenant, rest, _ := strings.Cut(text, ":")
	f.mu.RLock()
	defer f.mu.RUnlock()
	n := f.open[tenant][rest[:max(strings.LastIndexByte(rest, ':'), 0)]].Value()
	if n == nil || !n.owner.Spells() {
		return nil
	}
	return n
}

// storePrefix applies the invalidation of a prefix. It covers all entries of the namespaces whose keys begin
// with it, and some entries of the namespace that it ends in. What was built from entries knows the prefix
// up to its last colon.
func (f *Fences) storePrefix(text string, isSoft bool, pos invalidate.Position) {
	stem := stemOf(text)
	stub := len(text) > len(stem) && strings.HasSuffix(text, colon)
	f.mu.Lock()
	defer f.mu.Unlock()
	if stub { // before the stem: both announce, and what is built from a covered entry has both
		f.storeNode(ofStub, xxhash.Sum64String(text), isSoft, pos, nil, nil)
	}
	tenant, _, _ := strings.Cut(text, ":")
	var whole []*Namespace
	var part *Namespace
	for _, p := range f.open[tenant] {
		n := p.Value()
		switch {
		case n == nil:
		case strings.HasPrefix(n.stem, text):
			whole = append(whole, n)
		case n.stem == stem && !stub:
			part = n
		}
	}
	f.storeNode(ofStem, xxhash.Sum64String(stem), isSoft, pos, func(int64) bool {
		announce(whole, isSoft)
		if part != nil {
			part.announceCut(text)
		}
		return true
	}, func(at stamp) {
		cover(whole, isSoft, at)
		if part != nil {
			part.add(cut{stamp: at, text: text, soft: isSoft})
		}
	})
}

// stemOf returns a prefix up to its last colon, and Stem the hash of that: what is built from other values
// names their prefixes so.
func stemOf(prefix string) string { return prefix[:strings.LastIndexByte(prefix, ':')+1] }

// Stem returns the hash of a prefix up to its last colon, which is one of [Deps.Prefixes].
func Stem(prefix string) uint64 { return xxhash.Sum64String(stemOf(prefix)) }

// colon is how an id spells a colon of the key. Prefixes of an id that end with one have nodes.
const colon = "%3A"

// storeAll applies an invalidation of everything. With a position it also covers all frames as of an older
// one.
func (f *Fences) storeAll(isSoft bool, pos invalidate.Position) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var open []*Namespace
	for _, of := range f.open {
		for _, p := range of {
			if n := p.Value(); n != nil {
				open = append(open, n)
			}
		}
	}
	at := f.Now()
	announce(open, isSoft)
	now := stamp{f.tick.Add(1), pos, at}
	cover(open, isSoft, now)
	k := kindOf(isSoft)
	f.all[k] = f.all[k].later(now)
}

// announce tells the entries of namespaces of an invalidation that is about to take its tick.
func announce(of []*Namespace, isSoft bool) {
	for _, n := range of {
		if isSoft {
			n.announceCut("")
		} else {
			n.hard.Store(announced)
		}
	}
}

// cover ends all entries of namespaces, or their freshness. Fences.mu is held.
func cover(of []*Namespace, isSoft bool, at stamp) {
	for _, n := range of {
		if isSoft {
			n.add(cut{stamp: at, soft: true})
		} else {
			n.past = n.past.later(at)
			n.hard.Store(at.tick)
		}
	}
}

// many is a node for entries that depend on more scopes of a kind than they can name. Such entries are rare,
// so it hears of invalidations only once there was one.
type many struct {
	used atomic.Bool

	mu      sync.Mutex // protects the rest; a leaf among the locks
	node    Node
	pending [2]int
	last    [2]uint64
}

// manyOf returns the node of entries that depend on any scope of a kind.
func (f *Fences) manyOf(k kind) *many {
	if k == ofTag {
		return &f.anyTag
	}
	return &f.anyKey
}

// announce reports whether set must follow.
func (m *many) announce(isSoft bool, at int64) bool {
	if !m.used.Load() {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending[kindOf(isSoft)]++
	m.node.set(announced, isSoft, at)
	return true
}

// set notes a tick. While another invalidation is announced, the node stays as it is.
func (m *many) set(tick uint64, isSoft bool, at int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := kindOf(isSoft)
	m.pending[k]--
	if m.last[k] = max(m.last[k], tick); m.pending[k] == 0 {
		m.node.set(m.last[k], isSoft, at)
	}
}
