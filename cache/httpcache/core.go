package httpcache

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/coding"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/record"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/policy"
)

// core is what a Cache and a Transport share: the stored pages, the rules and the numbers.
type core struct {
	pages     pages
	tiers     *cache.Tiers
	space     key.Space
	rules     rules.Cache
	lines     page.Lines
	stats     counters
	running   running
	memory    *memory // of a Cache
	room      record.Room
	keep      time.Duration
	maxBody   int
	hashed    bool            // pages hold the digests of what they vary on
	until     bool            // pages stay until they are invalidated
	encodings []coding.Coding // of a Cache
	ignored   []string        // headers that an audit does not compare
	personal  []string        // headers that identify a client, so that no key may hold them
	now       func() time.Time
	logger    *slog.Logger
	warned    atomic.Int64 // when a failure was last logged, in Unix seconds
	closing   atomic.Bool  // no audit begins any more
}

// pages is a cache.Cache of pages. It is an interface because of the compiler: a package that
// imports a struct with a generic type in it compiles the code of that type once more.
type pages interface {
	Fetch(ctx context.Context, id string, load cache.Loader[string, *page.Page], opts ...cache.Option) (cache.Result[*page.Page], error)
	Peek(ctx context.Context, id string) (*page.Page, bool)
	Delete(ctx context.Context, id string, more ...invalidate.Scope) error
	DeleteAll(ctx context.Context, more ...invalidate.Scope) error
	Expire(ctx context.Context, id string) error
	Key(id string) invalidate.Scope
	Prefix(prefix string) invalidate.Scope
	Tag(tag string) invalidate.Scope
}

// The options of reads. A slice in the call would be allocated each time, because pages is an
// interface.
var (
	freshOnly = []cache.Option{cache.Fresh()}
	hereOnly  = []cache.Option{cache.SkipRemote()}
	renewed   = []cache.Option{cache.MaxAge(0)}
	anew      = []cache.Option{cache.MaxAge(0), cache.Fresh()}
)

// open sets the lines and opens the pages. The other fields are set.
func (k *core) open(name string, p policy.Patch, c codec.Codec) (err error) {
	k.room.Allow(record.MaxHeld(k.maxBody))
	if k.lines, err = page.NewLines(name, ttlOf(p)); err != nil {
		return fmt.Errorf("field Name: %w", err)
	}
	if k.tiers == nil { // with Off
		k.pages = cache.Cache[string, *page.Page]{} // its scopes cover nothing
		return nil
	}
	k.pages, err = cache.New(k.tiers, cache.Config[string, *page.Page]{
		Namespace: k.space.Namespace, Tenant: k.space.Tenant, Policy: p, Codec: c, Size: (*page.Page).Size, Equal: func(a, b *page.Page) bool { return a.Equal(b, k.ignored) },
	})
	return err
}

// close waits until the running requests have ended, or until ctx ends.
func (k *core) close(ctx context.Context, what string) error {
	k.closing.Store(true)
	if err := k.running.wait(ctx); err != nil {
		return fmt.Errorf("httpcache: close: %s still run: %w", what, err)
	}
	return nil
}

// warn logs a failure, at most once a second.
func (k *core) warn(ctx context.Context, what string, err error) {
	if now := k.now().Unix(); k.warned.Swap(now) != now {
		k.logger.WarnContext(ctx, "httpcache: "+what, "error", cause(err))
	}
}

// forget invalidates an entry after the load of ctx, because the origin does not send its page any
// more. During a load of the entry, the invalidation would repeat the load. A page that another load
// has made since stays.
func (k *core) forget(ctx context.Context, id string, made time.Time) {
	over := ctx.Done()
	ctx = context.WithoutCancel(ctx)
	k.running.Go(func() {
		<-over
		if p, ok := k.pages.Peek(ctx, id); ok && p != nil && p.Made > made.UnixMilli() {
			return
		}
		if err := k.pages.Delete(ctx, id); err != nil {
			k.stats.refuse(reason.Failure)
			k.warn(ctx, "the invalidation of a page that its origin does not send any more is pending", err)
		}
	})
}

// lives tells a load that ends now how long the page lives, and how long it is kept after that. The page
// may be older than the load.
func (k *core) lives(f *cache.Fill, p *page.Page, keep time.Duration) {
	now := k.now().UnixMilli()
	var fresh, stale, instead int64
	if !p.Asks {
		fresh = p.Made + p.Fresh - now
		late := min(fresh, 0)
		stale = max(p.Stale+late, 0)
		instead = max(p.IfError+late-stale, 0)
	}
	f.SetTTL(time.Duration(max(fresh, 0)) * time.Millisecond)
	f.SetStale(time.Duration(stale) * time.Millisecond)
	f.SetStaleIfError(time.Duration(instead) * time.Millisecond)
	f.SetKeep(keep)
}
