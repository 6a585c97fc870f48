// Package index finds the cached keys that carry a tag, and the tags of a cached key: which pages
// show post 7, and what does this page show? An [Index] attaches to the local tier of a
// cache.Tiers by two hooks:
//
//	ix := index.New(index.Config{})
//	tiers, err := cache.Open(cache.TiersConfig{OnStored: ix.Stored, OnRemoved: ix.Removed})
//
// # Guarantees
//
//  1. An entry is in the index before a read can find it in the local tier, and leaves the index
//     after it has left the tier. Therefore [Index.KeysOf] returns every key that a local hit can
//     return at the time of the call, as long as Stats.Missing is zero.
//  2. KeysOf and TagsOf leave out entries that must not be served any more, because they have
//     expired or because this or another process has invalidated them. Such an entry still counts
//     in Stats until it leaves the tier.
//  3. KeysOf may return a key whose entry is about to become visible, or has just left.
//  4. The index knows the local tier of this process. The remote tier may hold other keys.
//
// An invalidation needs no index: cache.Tiers.Invalidate takes tags directly. The index is for an
// operator's page, for a purge that reports how many entries it covered, and for a warm-up.
package index

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/tier"
)

// Config bounds an [Index]. The zero value allows a million entries with eight tags each on
// average. An entry takes about 100 bytes plus the text of its key. A pair of an entry and a tag
// takes about 35 bytes. They do not count as bytes of the local tier.
type Config struct {
	// MaxEntries bounds the entries. Zero or less means 1,048,576.
	MaxEntries int

	// MaxPairs bounds the pairs of an entry and a tag. Zero or less means 8,388,608.
	MaxPairs int
}

// Index is a two-way index between the keys in a local tier and their tags. The tier stores an
// entry even if the index has no room for it; see [Stats].Missing.
//
// An index may be attached to several Tiers. It keeps the values of its entries in memory, so do
// not keep it longer than its Tiers. Make one with [New]. All methods may be called concurrently.
// The slices that they return belong to the caller.
type Index struct {
	maxEntries, maxPairs int

	mu    sync.Mutex // protects the rest
	stats Stats      // without Tags
	built int        // entries whose values were built from others
	keys  shrinkMap[string, *registration]
	tags  shrinkMap[uint64, *tag]
}

// Stats says how much an [Index] holds now.
type Stats struct {
	Entries int // indexed entries of the local tier
	Tags    int // different tags of these entries
	Pairs   int // pairs of an entry and a tag

	// Missing is how many entries of the local tier are not in the index, because it had no room
	// when they were stored. An entry that leaves the tier is no longer missing.
	Missing int
}

// New returns an empty index.
func New(cfg Config) *Index {
	return &Index{
		maxEntries: cmp.Or(max(cfg.MaxEntries, 0), 1<<20),
		maxPairs:   cmp.Or(max(cfg.MaxPairs, 0), 8<<20),
		keys:       newShrinkMap[string, *registration](),
		tags:       newShrinkMap[uint64, *tag](),
	}
}

// Stored adds an entry. It is for cache.TiersConfig.OnStored.
func (x *Index) Stored(e cache.Entry) {
	reg := &registration{entry: e, key: e.Key(), built: builtOf(e)}
	var few [8]spelled
	tags := few[:0]
	for hash, text := range e.Tags() {
		tags = append(tags, spelled{hash, text})
	}

	x.mu.Lock()
	defer x.mu.Unlock()
	if reg.key == "" || x.stats.Entries >= x.maxEntries || x.stats.Pairs+len(tags) > x.maxPairs {
		x.stats.Missing++
		return
	}
	x.stats.Entries++
	if reg.built != nil {
		x.built++
	}
	x.link(reg, tags)
	reg.older = x.keys.m[reg.key]
	x.keys.put(reg.key, reg)
}

// Removed removes an entry. It is for cache.TiersConfig.OnRemoved. It removes exactly this entry,
// so a newer entry of the same key stays.
func (x *Index) Removed(e cache.Entry, _ tier.EvictReason) {
	key := e.Key()
	x.mu.Lock()
	defer x.mu.Unlock()
	reg := x.take(key, e)
	if reg == nil {
		x.stats.Missing = max(x.stats.Missing-1, 0)
		return
	}
	x.stats.Entries--
	if reg.built != nil {
		x.built--
	}
	x.unlink(reg)
}

// KeysOf returns the keys in this local tier that an invalidation of s would cover, sorted. The
// scope is a key, a tag, a prefix or all. The keys of values that were built from those that it names
// are among them. A prefix and all visit every key, in parts, so that stores wait for 1,024 keys at most.
// So does a key, if there are built values. The sorted list of a million keys still takes much of a
// processor and of memory: let one call run at a time. An invalid scope returns nil.
//
// Tags are indexed by their hashes, so values from the remote tier are found too. If two tags
// share a hash, each finds the keys of the other. Invalidations do the same.
func (x *Index) KeysOf(s invalidate.Scope) []string {
	var keys []string
	for part := range x.covered(s) {
		for _, reg := range part {
			if reg.entry.Alive() { // without the lock: it may have to spell a key
				keys = append(keys, reg.key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys) // while one entry replaces another, a key has two
}

// TagsOf returns the tags of a full key, "tenant:namespace:id", sorted. It returns nil if the key
// has no tags or is not in this local tier. A tag is spelled "tenant:tag". A tag whose text this
// index has never seen, because other processes loaded its values, is spelled "#" and 16
// hexadecimal digits of its hash.
func (x *Index) TagsOf(key string) []string {
	for _, found := range x.taggedAs(key) {
		if found.Alive() {
			slices.Sort(found.tags)
			return found.tags
		}
	}
	return nil
}

// tagged is an entry with the texts of its tags.
type tagged struct {
	cache.Entry
	tags []string
}

// taggedAs returns the entries of a key, newest first.
func (x *Index) taggedAs(key string) (found []tagged) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for reg := x.keys.m[key]; reg != nil; reg = reg.older {
		var tags []string
		for _, ref := range reg.refs {
			text := ref.tag.text
			if text == "" {
				text = fmt.Sprintf("#%016x", ref.tag.hash)
			}
			tags = append(tags, text)
		}
		found = append(found, tagged{reg.entry, tags})
	}
	return found
}

// Stats returns the current numbers.
func (x *Index) Stats() Stats {
	x.mu.Lock()
	defer x.mu.Unlock()
	s := x.stats
	s.Tags = len(x.tags.m)
	return s
}

// covered returns the registrations that s covers, alive or not, in parts. It does not hold the lock
// while the caller uses a part.
func (x *Index) covered(s invalidate.Scope) iter.Seq[[]*registration] {
	return func(yield func([]*registration) bool) {
		switch {
		case s.Validate() != nil:
		case s.Kind() == invalidate.KindTag:
			yield(x.usersOf(s.Hash()))
		case s.Kind() == invalidate.KindKey && !x.hasBuilt():
			yield(x.entriesOf(s.Text()))
		default:
			x.scan(s, yield)
		}
	}
}

// usersOf returns the users of a tag. It copies them at once, because those of a tag change their
// places. That takes about 1 ms for a million. The memory for it is made before, without the lock.
func (x *Index) usersOf(hash uint64) (regs []*registration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	few, many := x.tags.m[hash], x.tags.m[invalidate.AnyTag] // AnyTag stands for more tags than a value carries
	for cap(regs) < few.len()+many.len() {
		n := few.len() + many.len()
		x.mu.Unlock()
		regs = slices.Repeat([]*registration{nil}, n+n/8)[:0]
		x.mu.Lock()
		few, many = x.tags.m[hash], x.tags.m[invalidate.AnyTag]
	}
	for _, t := range []*tag{few, many} {
		if t != nil {
			for _, u := range t.users {
				regs = append(regs, u.reg)
			}
		}
	}
	return regs
}

// entriesOf returns the registrations of a key.
func (x *Index) entriesOf(key string) (regs []*registration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for reg := x.keys.m[key]; reg != nil; reg = reg.older {
		regs = append(regs, reg)
	}
	return regs
}

// hasBuilt reports whether there are values that were built from others.
func (x *Index) hasBuilt() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.built > 0
}

// maxPart is how many keys a scan visits before it releases the lock. That takes about 0.1 ms, and
// stores wait for it.
const maxPart = 1024

// scan visits every key. A range over a map may go on after the map has changed: it visits each key that
// was there all the time once.
func (x *Index) scan(s invalidate.Scope, yield func([]*registration) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var regs []*registration
	copies, visited := x.keys.copies, 0
	for key, reg := range x.keys.m {
		if x.keys.copies != copies { // the map was copied: this one is no longer up to date
			reg = x.keys.m[key]
		}
		named := s.Kind() != invalidate.KindKey && strings.HasPrefix(key, s.Text()) || key == s.Text()
		for ; reg != nil; reg = reg.older {
			if named || reg.built != nil && reg.built.BuiltFrom(s) {
				regs = append(regs, reg)
			}
		}
		if visited++; visited%maxPart == 0 {
			x.mu.Unlock()
			more := yield(regs)
			x.mu.Lock()
			if !more {
				return
			}
			regs = regs[:0]
		}
	}
	x.mu.Unlock()
	yield(regs)
	x.mu.Lock()
}
