package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/entry"
	"github.com/twofold-go/twofold/internal/failure"
	"github.com/twofold-go/twofold/internal/safeguard"
	"github.com/twofold-go/twofold/internal/wire"
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
	t      *Core                   // with text, detects a loader that waits for itself
	text   string                  // full key
	also   []string                // the full keys of a batch
	awaits []*atomic.Pointer[Fill] // the latest loads of awaited flights; by crossing.Mutex
	seenIn uint64                  // the latest search that came here; by crossing.Mutex

	// mu protects the rest.
	mu       sync.Mutex
	done     bool
	previous any // the value that the load replaces; nil: none
	distinct int // parts after the last compact
	facts
}

// facts holds what a loader recorded about its value.
type facts struct {
	entry.TagSet
	vouched    int64 // the oldest moment that vouches for a part, by the clock of Core; or never
	worn       bool  // a part is worn
	held       bool  // a part is held
	noStore    bool
	badTag     bool
	onPrevious bool
	unfresh    bool          // SetTTL was called with less than a millisecond
	ttl        time.Duration // 0: the policy's
	wire.Terms
}

// nothingSaid are the facts of a loader that has recorded nothing.
var nothingSaid = facts{vouched: entry.Never, Terms: wire.Unsaid}

type fillKey struct{}

// Filling returns the load that ctx belongs to, or nil.
func Filling(ctx context.Context) *Fill {
	f, _ := ctx.Value(fillKey{}).(*Fill)
	return f
}

// Tenant returns the tenant whose key is being loaded, also after the load has ended.
func (f *Fill) Tenant() string {
	if f == nil {
		return ""
	}
	return f.tenant
}

// SetTTL sets the lifetime of the value; see the documentation of cache.Fill for this and the next
// methods.
func (f *Fill) SetTTL(d time.Duration) {
	f.edit(func() { f.ttl, f.unfresh = d, f.unfresh || d < time.Millisecond })
}

// SetStale sets how long the value is served while it is loaded again.
func (f *Fill) SetStale(d time.Duration) { f.edit(func() { f.Stale = max(d, 0) }) }

// SetStaleIfError sets how long the value is served in place of a failed load.
func (f *Fill) SetStaleIfError(d time.Duration) { f.edit(func() { f.IfError = max(d, 0) }) }

// SetKeep sets how long the value is kept for Previous.
func (f *Fill) SetKeep(d time.Duration) { f.edit(func() { f.Keep = max(d, 0) }) }

// DependOnPrevious makes the value depend on what its predecessor depends on.
func (f *Fill) DependOnPrevious() { f.edit(func() { f.onPrevious = true }) }

// NoStore keeps the value out of both tiers.
func (f *Fill) NoStore() { f.edit(func() { f.noStore = true }) }

// Stores reports whether the value may be stored, by what was told so far.
func (f *Fill) Stores() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.noStore && !f.badTag
}

// Depend records that the value being loaded was built from what the tags stand for.
func (f *Fill) Depend(tags []string) {
	f.edit(func() {
		for _, t := range tags {
			tag := invalidate.Tag(f.tenant, t)
			if tag.Validate() != nil {
				f.badTag = true
				continue
			}
			f.Add(tag.Hash(), f.t.spellTag(f.tenant, t))
		}
	})
}

// Previous returns the value that the load replaces, or nil.
func (f *Fill) Previous() any {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.previous
}

// Inherit makes the load under ctx depend on an item that its loader has just read. The lease
// was read before the item's fences were checked.
func (v *View) Inherit(ctx context.Context, it *entry.Entry, lease int64) {
	if loading.Load() != 0 {
		v.inheritInLoad(ctx, it, lease)
	}
}

// inheritInLoad is a separate function, so that a hit outside of a load makes no call.
//
//go:noinline
func (v *View) inheritInLoad(ctx context.Context, it *entry.Entry, lease int64) {
	if f := Filling(ctx); f != nil {
		f.dependOn(ViewOf(it), it.FullKey())
		v.t.handOn(f, it.Rare, it.ReadAt(), lease, it.IsWorn())
	}
}

// handOn gives a load what a part depends on and the moment that vouches for it. The
// load needs the moment, because its value is as old as its oldest part, however late the load
// began. A value with a held part is not cached, either. An Expire has ended the freshness of a worn part, so a value with such a part is not
// fresh.
func (t *Core) handOn(f *Fill, d *entry.Rare, readAt, lease int64, worn bool) {
	if t.follower == nil && len(d.Deps.Tags)+len(d.Keys) == 0 && d.PartsOlder == 0 && !worn && !d.OnHold {
		return
	}
	f.edit(func() {
		f.worn, f.held = f.worn || worn, f.held || d.OnHold
		if at := t.vouchedAt(d, readAt, lease); at != entry.Never && !safeguard.Off(safeguard.Parts) {
			f.vouched = min(f.vouched, at+int64(t.base.Sub(f.t.base)))
		}
		f.gather(d.Keys, d.Prefixes)
		for i, hash := range d.Deps.Tags {
			text := ""
			if f.t.cfg.OnStored != nil {
				text = d.TextOf(i)
			}
			f.Add(hash, text)
		}
	})
}

// vouchedAt returns the latest moment at which a part is known to have been true. That is when
// the lease was confirmed under which it was judged, or when it was read from the source.
// Without a log, only a part that was built from other parts has such a moment.
func (t *Core) vouchedAt(d *entry.Rare, readAt, lease int64) int64 {
	switch {
	case t.follower == nil && d.PartsOlder == 0:
		return entry.Never
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
func (f *Fill) loads(t *Core, text string) bool {
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
		return failure.ErrRecursive
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

// close ends the loader's influence and returns what it recorded.
func (f *Fill) close() facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done, f.previous = true, nil
	f.compact()
	return f.facts
}
