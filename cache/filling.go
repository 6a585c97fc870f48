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

// loading counts the running loads of this process. While it is zero, no hit can be a part of
// another value. Then a hit does not look up the load in its context, which takes 2 to 60 ns, by
// depth (BenchmarkLocalHitBesideALoad).
var loading atomic.Int64

// Fill is the handle of a running load, from [Filling]. All its methods may be called on nil,
// concurrently, and after the load has ended; then they change nothing.
type Fill struct {
	parent *Fill
	tenant string
	audit  bool                    // it is for an audit: its value is not stored
	t      *Tiers                  // with text, detects a loader that waits for itself
	text   string                  // full key
	also   []string                // the full keys of a batch
	awaits []*atomic.Pointer[Fill] // the latest loads of awaited flights; by crossing.Mutex
	seenIn uint64                  // the latest search that came here; by crossing.Mutex

	// mu protects the rest.
	mu       sync.Mutex
	done     bool
	previous any // the value that the load replaces; nil: none
	tagSet
	distinct   int   // parts after the last compact
	vouched    int64 // the oldest moment that vouches for a part, by t's clock; or never
	worn       bool  // a part is worn
	held       bool  // a part is held
	noStore    bool
	badTag     bool
	onPrevious bool
	unfresh    bool          // SetTTL was called with less than a millisecond
	ttl        time.Duration // 0: the policy's
	terms
}

type fillKey struct{}

// Filling returns the load that ctx belongs to. A loader calls it with its own context. Outside
// a loader it returns nil, whose methods do nothing. In a LoadMany, what the methods set applies
// to all keys of the call, and [Previous] has a value only if the call has one key.
func Filling(ctx context.Context) *Fill {
	f, _ := ctx.Value(fillKey{}).(*Fill)
	return f
}

// Tenant returns the tenant whose key is being loaded: that of the handle that read it, or
// [DefaultTenant]. A loader of a cache with several tenants needs it to ask for the right row.
// All keys of one LoadMany belong to one tenant. Outside a loader it returns "". It also returns
// the tenant after the load has ended.
func (f *Fill) Tenant() string {
	if f == nil {
		return ""
	}
	return f.tenant
}

// SetTTL replaces the policy's TTL for the value being loaded, and NegativeTTL if the load finds
// none; the jitter still applies. With d under a millisecond the value is not stored, whatever a
// later call says. But if SetStale, SetStaleIfError or SetKeep is called with more than zero,
// before or after, the value is stored and never fresh.
func (f *Fill) SetTTL(d time.Duration) {
	f.edit(func() { f.ttl, f.unfresh = d, f.unfresh || d < time.Millisecond })
}

// SetStale replaces the policy's Stale for the value being loaded, in every process that reads
// it. Negative counts as zero. After SetStale(0) no process serves the value while it is loaded
// again. The StaleIfError of this process's policy then also binds every process, unless
// SetStaleIfError replaces it. An absence is never served stale.
func (f *Fill) SetStale(d time.Duration) { f.edit(func() { f.stale = max(d, 0) }) }

// SetStaleIfError replaces the policy's StaleIfError for the value being loaded, in every
// process that reads it. Negative counts as zero. It counts from the end of Stale, as the
// policy's does. The Stale of this process's policy then also binds every process, unless
// SetStale replaces it. An absence is never served stale.
func (f *Fill) SetStaleIfError(d time.Duration) { f.edit(func() { f.ifError = max(d, 0) }) }

// SetKeep keeps the value being loaded for d after its freshness, Stale and StaleIfError have
// ended. No read gets the value then. The load that replaces it gets it as [Previous] and may
// return [ErrNotModified], in this process or, through the remote tier, in another. What the
// loader sets on its Fill that time is the value's new life. An invalidation covers a kept value
// like any other. A remembered error replaces it. Zero, the default, and negative keep nothing.
// An absence is not kept.
func (f *Fill) SetKeep(d time.Duration) { f.edit(func() { f.keep = max(d, 0) }) }

// DependOnPrevious makes the value being loaded depend on everything that the value of
// [Previous] depends on. Use it in a loader that makes the new value from the old one and
// returns it. After [ErrNotModified] the value depends on it anyway.
func (f *Fill) DependOnPrevious() { f.edit(func() { f.onPrevious = true }) }

// NoStore keeps the value being loaded out of both tiers. The callers that wait for it get it.
func (f *Fill) NoStore() { f.edit(func() { f.noStore = true }) }

// Stores reports whether the value being loaded may be stored, by what was told so far: NoStore was
// not called, and every tag is valid.
func (f *Fill) Stores() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.noStore && !f.badTag
}

// Depend records that the value being loaded under ctx was built from what the tags stand for.
// The invalidation of one of the tags then covers it. Outside a loader Depend does nothing. The
// tags belong to the tenant of the key being loaded. A tag that is empty, too long or not UTF-8
// could never be invalidated, so a value with one is returned but not stored.
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

// Previous returns the value that the load under ctx replaces. A loader can ask its source
// whether that value is still valid, and return [ErrNotModified]. Previous reports false if
// there is no such value, if its type is not V, if it was invalidated, or if an Expire ended the
// freshness of a part of it. The loader must not change the value.
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

// inherit makes the load under ctx depend on an item that its loader has just read. The lease
// was read before the item's fences were checked.
func (v *view) inherit(ctx context.Context, it *entry, lease int64) {
	if loading.Load() != 0 {
		v.inheritInLoad(ctx, it, lease)
	}
}

// inheritInLoad is a separate function, so that a hit outside of a load makes no call.
//
//go:noinline
func (v *view) inheritInLoad(ctx context.Context, it *entry, lease int64) {
	if f := Filling(ctx); f != nil {
		f.dependOn(it.view, it.FullKey())
		v.t.handOn(f, it.rare, it.readAt(), lease, it.isWorn())
	}
}

// handOn gives a load what a part depends on and the moment that vouches for it. The
// load needs the moment, because its value is as old as its oldest part, however late the load
// began. A value with a held part is not cached, either. An Expire has ended the freshness of a worn part, so a value with such a part is not
// fresh.
func (t *Tiers) handOn(f *Fill, d *rare, readAt, lease int64, worn bool) {
	if t.follower == nil && len(d.Deps.Tags)+len(d.Keys) == 0 && d.older == 0 && !worn && !d.held {
		return
	}
	f.edit(func() {
		f.worn, f.held = f.worn || worn, f.held || d.held
		if at := t.vouchedAt(d, readAt, lease); at != never && !safeguard.Off(safeguard.Parts) {
			f.vouched = min(f.vouched, at+int64(t.base.Sub(f.t.base)))
		}
		f.gather(d.Keys, d.Prefixes)
		for i, hash := range d.Deps.Tags {
			text := ""
			if f.t.cfg.OnStored != nil {
				text = d.textOf(i)
			}
			f.add(hash, text)
		}
	})
}

// vouchedAt returns the latest moment at which a part is known to have been true. That is when
// the lease was confirmed under which it was judged, or when it was read from the source.
// Without a log, only a part that was built from other parts has such a moment.
func (t *Tiers) vouchedAt(d *rare, readAt, lease int64) int64 {
	switch {
	case t.follower == nil && d.older == 0:
		return never
	case t.follower == nil || lease == 0: // the lease was never confirmed
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

// loads reports whether f, or a load around it, loads this key.
func (f *Fill) loads(t *Tiers, text string) bool {
	for ; f != nil; f = f.parent {
		if f.t == t && (f.text == text || slices.Contains(f.also, text)) {
			return true
		}
	}
	return false
}

// crossing protects the waits of loaders. Only a read inside a loader locks it.
var crossing struct {
	sync.Mutex
	searches uint64
}

// await notes that f's loader waits for a flight, whose latest load is at. If that load waits
// for f, neither would ever end, and await returns ErrRecursive.
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

// reaches reports whether f is g or waits for it, perhaps through other loads. A search visits
// each load once, because there may be far more paths than loads.
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

// facts holds what a loader recorded about its value.
type facts struct {
	tagSet
	vouched int64
	worn    bool
	held    bool
	noStore bool
	badTag  bool
	unfresh bool
	ttl     time.Duration
	terms
	onPrevious bool
}

// close ends the loader's influence and returns what it recorded.
func (f *Fill) close() facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.previous = true, nil
	f.compact()
	return facts{
		tagSet: f.tagSet, vouched: f.vouched, worn: f.worn, held: f.held, noStore: f.noStore, badTag: f.badTag,
		unfresh: f.unfresh, ttl: f.ttl, terms: f.terms, onPrevious: f.onPrevious,
	}
}
