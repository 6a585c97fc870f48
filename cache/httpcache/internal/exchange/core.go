package exchange

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
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

// Core is what a Cache and a Transport share: the stored pages, the rules and the numbers.
type Core struct {
	Pages     pages
	Tiers     *cache.Tiers
	Space     key.Space
	Rules     rules.Cache
	Lines     page.Lines
	Stats     Counters
	Running   running
	Memory    *Memory // of a Cache
	Room      record.Room
	Keep      time.Duration
	MaxBody   int
	Statuses  []int              // that are stored; nil: all
	Hashed    bool               // of a Transport: pages hold the digests of what they vary on
	Until     bool               // pages stay until they are invalidated
	Encodings []coding.Coding    // of a Cache
	Ignored   []string           // headers that an audit does not compare
	Shown     func(key any) bool // of a Cache: whether its handler may see a context value
	Now       func() time.Time
	Logger    *slog.Logger
	warned    atomic.Int64 // when a failure was last logged, in Unix seconds
	advised   atomic.Bool  // see Advise
	Closing   atomic.Bool  // no audit begins any more
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
	FreshOnly = []cache.Option{cache.Fresh()}
	HereOnly  = []cache.Option{cache.SkipRemote()}
	hereKept  = []cache.Option{cache.SkipRemote(), cache.Fresh()}
	Renewed   = []cache.Option{cache.MaxAge(0)}
	Anew      = []cache.Option{cache.MaxAge(0), cache.Fresh()}
)

// Open sets the lines and opens the pages. The other fields are set; Now and Logger may be nil.
func (k *Core) Open(name string, p policy.Patch, c codec.Codec) (err error) {
	if k.Now == nil {
		k.Now = time.Now
	}
	k.Logger = cmp.Or(k.Logger, slog.Default())
	k.Room.Allow(record.MaxHeld(k.MaxBody))
	if k.Lines, err = page.NewLines(name); err != nil {
		return fmt.Errorf("field Name: %w", err)
	}
	p.MaxValueBytes = cmp.Or(p.MaxValueBytes, new(2*k.MaxBody+2*record.MaxHeader)) // an encoded body may be longer than the body
	if k.Tiers == nil {                                                            // with Off
		k.Pages = cache.Cache[string, *page.Page]{} // its scopes cover nothing
		return nil
	}
	k.Pages, err = cache.New(k.Tiers, cache.Config[string, *page.Page]{
		Namespace: k.Space.Namespace, Tenant: k.Space.Tenant, Policy: p, Codec: cmp.Or[codec.Codec](c, codec.CBOR),
		Size: (*page.Page).Size, Equal: func(a, b *page.Page) bool { return a.Equal(b, k.Ignored) },
	})
	return err
}

// Close waits until the running requests have ended, or until ctx ends.
func (k *Core) Close(ctx context.Context, what string) error {
	k.Closing.Store(true)
	if err := k.Running.wait(ctx); err != nil {
		return fmt.Errorf("httpcache: close: %s still run: %w", what, err)
	}
	return nil
}

// Warn logs a failure, at most once a second.
func (k *Core) Warn(ctx context.Context, what string, err error) {
	if now := k.Now().Unix(); k.warned.Swap(now) != now {
		k.Logger.WarnContext(ctx, "httpcache: "+what, "error", Cause(err))
	}
}

// Around is what to do if a cache is inside a router.
const Around = "put the cache around the router, as in http.ListenAndServe(addr, pages.Middleware(router))"

// Advise logs what a program should change, once.
func (k *Core) Advise(what string, args ...any) {
	if !k.advised.Swap(true) {
		k.Logger.Warn("httpcache: "+what, args...)
	}
}

// forget invalidates an entry after the load of ctx, because the origin does not send its page any
// more. During a load of the entry, the invalidation would repeat the load. A page that another load
// has made since stays.
func (k *Core) forget(ctx context.Context, id string, made time.Time) {
	over := ctx.Done()
	ctx = context.WithoutCancel(ctx)
	k.Running.Go(func() {
		<-over
		k.over(ctx, id, made)
	})
}

// over invalidates an entry whose page was made before a time.
func (k *Core) over(ctx context.Context, id string, made time.Time) {
	if p, ok := k.Pages.Peek(ctx, id); ok && p != nil && p.Made > made.UnixMilli() {
		return
	}
	if err := k.Pages.Delete(ctx, id); err != nil {
		k.Stats.Refuse(reason.Failure)
		k.Warn(ctx, "the invalidation of a page that its origin does not send any more is pending", err)
	}
}

// Lives tells a load that ends now how long the page lives, and how long it is kept after that. The page
// may be older than the load.
func (k *Core) Lives(f *cache.Fill, p *page.Page, keep time.Duration) {
	now := k.Now().UnixMilli()
	var fresh, stale, instead int64
	if !p.Asks {
		fresh = p.Made + p.Fresh - now
		late := min(fresh, 0)
		stale = max(p.Stale+late, 0)
		instead = max(p.IfError+late-stale, 0)
	}
	f.SetLifetime(cache.Lifetime{
		TTL:          new(time.Duration(max(fresh, 0)) * time.Millisecond),
		Stale:        new(time.Duration(stale) * time.Millisecond),
		StaleIfError: new(time.Duration(instead) * time.Millisecond),
		Keep:         &keep,
	})
}

// Record makes a recorder ready. Who decides about the response.
func (k *Core) Record(r *record.Recorder, who record.Decider) {
	r.Who, r.Handler, r.Coded = who, !k.Hashed, len(k.Encodings) > 0
	r.Slow = k.Hashed // a Transport's caller reads as it comes
	if r.Handler {
		r.Given = make(http.Header)
	}
	r.Begin(k.MaxBody, &k.Room)
}

// Page makes a page of a whole response.
func (k *Core) Page(status int, h http.Header, body []byte, made time.Time) *page.Page {
	p := page.New(status, h, body, !k.Hashed, k.Until)
	p.Made, p.Format = made.UnixMilli(), FormatOf(h)
	p.Offer(len(k.Encodings) > 0)
	return p
}
