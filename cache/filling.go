package cache

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/invalidate"
)

// loading counts the loads that run in this process. While it is zero, no hit
// can be an ingredient of anything, and the look-up of the load in its context
// (9 to 60 ns, by depth) is left out.
var loading atomic.Int64

// Fill is the handle of a load under way, from [Filling]. All its methods may
// be called on nil, concurrently, and after the load has ended; then they do
// nothing.
type Fill struct {
	parent *Fill
	tenant string
	t      *Tiers                  // with text, to recognise a loader that waits for itself
	text   string                  // full key
	also   []string                // the full keys of a batch
	awaits []*atomic.Pointer[Fill] // the latest loads of the flights that the loader waits for; protected by crossing.Mutex
	seenIn uint64                  // the latest search that came here; likewise

	// mu protects the rest.
	mu       sync.Mutex
	done     bool
	previous any // the value being refreshed, nil when there is none
	tagSet
	vouched    int64 // the oldest moment that vouches for a part, on t's clock; never: no part needs one
	worn       bool  // a part is worn
	noStore    bool
	badTag     bool
	onPrevious bool
	unfresh    bool          // SetTTL was called with less than a millisecond
	ttl        time.Duration // 0: as the policy says
	terms
}

type fillKey struct{}

// Filling returns the load that ctx belongs to: inside a loader its own
// context gives its handle. Elsewhere it returns nil, whose methods do
// nothing.
func Filling(ctx context.Context) *Fill {
	f, _ := ctx.Value(fillKey{}).(*Fill)
	return f
}

// SetTTL replaces the policy's TTL for the value being loaded; its jitter still
// applies. A d of less than a millisecond means not to store the value. With a SetStale,
// SetStaleIfError or SetKeep of more than zero, before or after it, such a d means that the
// value is stored and never fresh.
func (f *Fill) SetTTL(d time.Duration) {
	f.edit(func() { f.ttl, f.unfresh = d, f.unfresh || d < time.Millisecond })
}

// SetStale replaces the policy's Stale for the value being loaded, in every process that
// reads it; negative counts as zero. After SetStale(0) no process serves the value while it
// is loaded anew. The StaleIfError of this process's policy then holds for every process,
// too, unless SetStaleIfError replaces it. An absence is never served stale.
func (f *Fill) SetStale(d time.Duration) { f.edit(func() { f.stale = max(d, 0) }) }

// SetStaleIfError replaces the policy's StaleIfError for the value being loaded, in every
// process that reads it; negative counts as zero. It counts from the end of Stale, as the
// policy's does. The Stale of this process's policy then holds for every process, too,
// unless SetStale replaces it. An absence is never served stale.
func (f *Fill) SetStaleIfError(d time.Duration) { f.edit(func() { f.ifError = max(d, 0) }) }

// SetKeep keeps the value being loaded for d beyond all use: the end of its freshness, Stale
// and StaleIfError. No read is served the value then. The load that replaces it, in this
// process or by the remote tier in another, finds it as [Previous], and may return
// [ErrNotModified]. What its Fill says this time is the new life of the value. An
// invalidation covers a value that is kept as any other. A remembered error takes its place.
// Zero, which is the default, and negative keep nothing; an absence is not kept.
func (f *Fill) SetKeep(d time.Duration) { f.edit(func() { f.keep = max(d, 0) }) }

// DependOnPrevious makes the value being loaded depend on all that the value of [Previous]
// depends on. It is for a loader that makes the one of the other and returns it itself: what
// [ErrNotModified] stands for depends on the same anyway.
func (f *Fill) DependOnPrevious() { f.edit(func() { f.onPrevious = true }) }

// NoStore keeps the value being loaded out of both tiers. Callers that wait
// for it get it.
func (f *Fill) NoStore() { f.edit(func() { f.noStore = true }) }

// Depend records that whatever is being loaded under ctx was built from what
// the tags stand for: invalidating one of them invalidates it. Outside a loader
// it does nothing. The tags belong to the tenant of the key being loaded. A tag
// that is empty, too long or not UTF-8 could never be invalidated, so a value
// with one is returned but not stored.
func Depend(ctx context.Context, tags ...string) {
	f := Filling(ctx)
	f.edit(func() {
		for _, t := range tags {
			tag := invalidate.Tag(f.tenant, t)
			if tag.Validate() != nil {
				f.badTag = true
				continue
			}
			f.add(tag.Hash(), f.t.spellTag(f.tenant, t))
		}
	})
}

// Previous returns the value that the load under ctx is to replace, so that a
// loader can ask its source whether it still stands and return
// [ErrNotModified]. It reports false when there is none, when V is another
// type, when the value was invalidated, and when an Expire ended the freshness of something
// that it was built from. The value must not be changed.
func Previous[V any](ctx context.Context) (V, bool) {
	var zero V
	f := Filling(ctx)
	if f == nil {
		return zero, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := f.previous.(V)
	return v, ok
}

// inherit makes the load under ctx depend on an item that its loader has just
// read. The lease was read before the item's fences were looked at.
func (c Cache[K, V]) inherit(ctx context.Context, it *item[K, V], lease int64) {
	if loading.Load() != 0 {
		c.s.t.handOn(ctx, it.rare, it.readAt(), lease, it.isWorn())
	}
}

// handOn gives the load under ctx the tags of a part and the moment that vouches
// for it. The load needs the moment: its value is as old as its oldest part,
// however lately the load itself began. Of a worn part, whose freshness an Expire has ended,
// no fresh value is built.
func (t *Tiers) handOn(ctx context.Context, d *rare, readAt, lease int64, worn bool) {
	if t.follower == nil && len(d.tags) == 0 && d.older == 0 && !worn {
		return
	}
	f := Filling(ctx)
	f.edit(func() {
		f.worn = f.worn || worn
		if at := t.vouchedAt(d, readAt, lease); at != never && !safeguard.Off(safeguard.Parts) {
			f.vouched = min(f.vouched, at+int64(t.base.Sub(f.t.base)))
		}
		for i, hash := range d.tags {
			text := ""
			if f.t.cfg.OnStored != nil {
				text = d.textOf(i)
			}
			f.add(hash, text)
		}
	})
}

// vouchedAt returns the latest moment at which a part is known to have been
// true: when the lease was confirmed that it was judged under, or when it was
// read from the source. Without a log only what the part was built from has one.
func (t *Tiers) vouchedAt(d *rare, readAt, lease int64) int64 {
	switch {
	case t.follower == nil && d.older == 0:
		return never
	case t.follower == nil || lease == 0: // 0: the lease was never confirmed
		return readAt
	}
	return max(lease, readAt)
}

func (f *Fill) edit(change func()) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done {
		change()
	}
}

// loads reports whether f, or a load it is nested in, loads this very key.
func (f *Fill) loads(t *Tiers, text string) bool {
	for ; f != nil; f = f.parent {
		if f.t == t && (f.text == text || slices.Contains(f.also, text)) {
			return true
		}
	}
	return false
}

// crossing protects what loaders wait for. Only a read inside a loader takes it.
var crossing struct {
	sync.Mutex
	searches uint64
}

// await notes that f's loader waits for a flight, whose latest load is at. If that one
// waits for f, neither would ever end: it is an ErrRecursive.
func (f *Fill) await(at *atomic.Pointer[Fill]) error {
	crossing.Lock()
	defer crossing.Unlock()
	crossing.searches++
	if at.Load().reaches(f) {
		return ErrRecursive
	}
	f.awaits = append(f.awaits, at)
	return nil
}

// reaches reports whether f is g or waits for it, through other loads perhaps. A search
// comes to each load once: there may be far more ways than loads.
func (f *Fill) reaches(g *Fill) bool {
	if f == nil || f == g {
		return f != nil
	}
	if f.seenIn == crossing.searches {
		return false
	}
	f.seenIn = crossing.searches
	return slices.ContainsFunc(f.awaits, func(at *atomic.Pointer[Fill]) bool { return at.Load().reaches(g) })
}

// awaited undoes await.
func (f *Fill) awaited(at *atomic.Pointer[Fill]) {
	if f == nil {
		return
	}
	crossing.Lock()
	defer crossing.Unlock()
	if i := slices.Index(f.awaits, at); i >= 0 {
		f.awaits = slices.Delete(f.awaits, i, i+1)
	}
}

// facts is what a loader said about its value besides returning it.
type facts struct {
	tagSet
	vouched int64
	worn    bool
	noStore bool
	badTag  bool
	unfresh bool
	ttl     time.Duration
	terms
	onPrevious bool
}

// close ends the loader's influence and returns what it said.
func (f *Fill) close() facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.previous = true, nil
	return facts{
		tagSet: f.tagSet, vouched: f.vouched, worn: f.worn, noStore: f.noStore, badTag: f.badTag,
		unfresh: f.unfresh, ttl: f.ttl, terms: f.terms, onPrevious: f.onPrevious,
	}
}
