package resident

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/internal/remote"
	"github.com/twofold-go/twofold/invalidate"
)

// Loading counts the running loads of this process. While it is zero, no hit can be a part of
// another value. Then a hit does not look up the load in its context, which takes 2 to 60 ns, by
// depth (BenchmarkLocalHitBesideALoad).
var Loading atomic.Int64

// Fill is the handle of a running load, from [FillOf]. All its methods may be called on nil,
// concurrently, and after the load has ended; then they change nothing.
type Fill struct {
	parent *Fill
	tenant string
	Audit  bool                    // it is for an audit: its value is not stored
	Behind bool                    // the call that began it has the old value
	Turn   *Turn                   // that it runs in; set before the loader is called
	tiers  *FillTiers              // with text, detects a loader that waits for itself
	text   string                  // full key
	also   []string                // the full keys of a batch
	awaits []*atomic.Pointer[Fill] // the latest loads of awaited flights; by crossing.Mutex
	seenIn uint64                  // the latest search that came here; by crossing.Mutex
	done   atomic.Bool             // set with mu held

	// mu protects the rest.
	mu       sync.Mutex
	previous any // the value that the load replaces; nil: none
	distinct int // parts after the last compact
	Facts
}

// Facts holds what a loader recorded about its value.
type Facts struct {
	TagSet
	ConfirmedAt int64 // the moment at which the oldest part was confirmed, by the clock of its Tiers; or never
	OfExpired   bool  // an Expire had ended the freshness of a part
	Unstored    bool
	BadTag      bool
	OnPrevious  bool
	NeverFresh  bool          // the loader's TTL is below a millisecond
	TTL         time.Duration // 0: the policy's
	remote.Terms
}

// NothingSaid are the facts of a loader that has recorded nothing.
var NothingSaid = Facts{ConfirmedAt: Never, Terms: remote.Unsaid}

// FillTiers is what the loads of one process's Tiers share.
type FillTiers struct {
	Base  time.Time // the origin of their clock
	Texts bool      // the texts of tags are kept
}

// Tag adds a tag to a set. It reports false if the tag is not valid.
func (t *FillTiers) Tag(to *TagSet, tenant, name string) bool {
	tag, text := invalidate.Tag(tenant, name), ""
	if tag.Validate() != nil {
		return false
	}
	if t.Texts {
		text = tenant + ":" + name
	}
	to.Add(tag.Hash(), text)
	return true
}

// Open begins a load of a key. parent is the load around it, or nil. f is zero.
func (f *Fill) Open(parent *Fill, t *FillTiers, tenant, text string) {
	f.parent, f.tiers, f.tenant, f.text, f.Facts = parent, t, tenant, text, NothingSaid
}

// ContextKey is the key of the load that a context belongs to.
type ContextKey struct{}

// Within returns a context that belongs to the load.
func (f *Fill) Within(ctx context.Context) context.Context {
	return context.WithValue(ctx, ContextKey{}, f)
}

// Outside returns a context that belongs to no load.
func Outside(ctx context.Context) context.Context { return (*Fill)(nil).Within(ctx) }

// FillOf returns the load that ctx belongs to, or nil.
func FillOf(ctx context.Context) *Fill {
	f, _ := ctx.Value(ContextKey{}).(*Fill)
	return f
}

// Running returns the load that a read under ctx is a part of, or nil. A goroutine may keep the context of
// a load that has ended. Then it is the load around it.
func Running(ctx context.Context) *Fill {
	f := FillOf(ctx)
	for f != nil && f.done.Load() {
		f = f.parent
	}
	return f
}

// Auditing reports whether the load runs for an audit. A load that its loader causes does not.
func (f *Fill) Auditing() bool { return f != nil && f.Audit }

// InBackground reports whether the load runs behind the call that began it. A load that its loader causes does not.
func (f *Fill) InBackground() bool { return f != nil && (f.Behind || f.Audit) }

// Tenant returns the tenant whose key is being loaded, also after the load has ended.
func (f *Fill) Tenant() string {
	if f == nil {
		return ""
	}
	return f.tenant
}

// Lifespan says how long a value lives; see cache.Lifetime.
type Lifespan struct{ TTL, Stale, StaleIfError, Keep *time.Duration }

// SetLifetime sets the lifetime of the value. A nil field changes nothing.
func (f *Fill) SetLifetime(l Lifespan) {
	f.edit(func() {
		if l.TTL != nil {
			f.TTL, f.NeverFresh = *l.TTL, *l.TTL < time.Millisecond
		}
		set(&f.Stale, l.Stale)
		set(&f.IfError, l.StaleIfError)
		set(&f.Keep, l.Keep)
	})
}

func set(to, d *time.Duration) {
	if d != nil {
		*to = max(*d, 0)
	}
}

// DependOnPrevious makes the value depend on what its predecessor depends on.
func (f *Fill) DependOnPrevious() { f.edit(func() { f.OnPrevious = true }) }

// NoStore keeps the value out of both tiers.
func (f *Fill) NoStore() { f.edit(func() { f.Unstored = true }) }

// Stores reports whether the value may be stored, by what was told so far.
func (f *Fill) Stores() bool {
	if f == nil {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.Unstored && !f.BadTag
}

// Depend records that the value being loaded was built from what the tags stand for.
func (f *Fill) Depend(tags []string) {
	f.edit(func() {
		f.Grow(len(tags))
		for _, t := range tags {
			f.BadTag = !f.tiers.Tag(&f.TagSet, f.tenant, t) || f.BadTag
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

// TakeOn gives the load what a part depends on, and the moment at which the part was confirmed. The
// value is as old as its oldest part, even if the load began later. A value
// with an expired part is returned to its callers and stored in no tier.
func (f *Fill) TakeOn(d *Rare, expired bool, confirmedAt int64) {
	f.edit(func() {
		f.OfExpired = f.OfExpired || expired
		f.ConfirmedAt = min(f.ConfirmedAt, confirmedAt)
		f.gather(d.Keys, d.Prefixes)
		for i, hash := range d.Deps.Tags {
			text := ""
			if f.tiers.Texts {
				text = d.TextOf(i)
			}
			f.Add(hash, text)
		}
	})
}

// Origin returns the origin of the clock of the load's Tiers.
func (f *Fill) Origin() time.Time { return f.tiers.Base }

func (f *Fill) edit(change func()) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.done.Load() {
		change()
	}
}

// SetPrevious sets the value that the load replaces, before its loader is called.
func (f *Fill) SetPrevious(v any) { f.edit(func() { f.previous = v }) }

// Also adds another key of a batch, before the loader is called.
func (f *Fill) Also(text string) { f.also = append(f.also, text) }

// Close ends the loader's influence and returns what it recorded.
func (f *Fill) Close() Facts {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done.Store(true)
	f.previous = nil
	f.compact()
	return f.Facts
}
