package httpcache

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/address"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/page"
	"github.com/twofold-go/twofold/cache/httpcache/internal/reason"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/key"
)

// Cache stores responses. New makes one; Handler puts it in front of a handler. All methods may
// be called concurrently.
type Cache struct {
	cfg    Config
	k      exchange.Core
	varied []address.Varied // cfg.Vary
	judged atomic.Int64     // when eager was last set, in Unix seconds
	eager  atomic.Bool
}

// New returns the cache that cfg describes. Its error names every fault of cfg.
func New(cfg Config) (*Cache, error) {
	if err := cfg.defaults(); err != nil {
		return nil, fmt.Errorf("httpcache: new: %w", err)
	}
	c := &Cache{cfg: cfg, k: exchange.Core{
		Memory: &exchange.Memory{Seed: maphash.MakeSeed()}, Encodings: compressors(cfg.Encodings),
		Tiers: cfg.Tiers,
		Space: key.Space{Tenant: cfg.Tenant, Namespace: cfg.Namespace},
		Rules: rules.Cache{Shared: true, Targets: cfg.Targets, Fallback: cfg.Fallback.rule()},
		Until: cfg.pages(), Personal: cfg.Credentials, Ignored: cfg.AuditIgnore,
		Keep: cfg.Keep, MaxBody: cfg.MaxBody, Now: cfg.Now, Logger: cfg.Logger,
	}}
	for _, v := range cfg.Vary {
		c.varied = append(c.varied, address.Varied(v))
	}
	if cfg.Off {
		c.k.Tiers = nil
	}
	if err := c.k.Open(cfg.Name, cfg.policy(), cfg.Codec); err != nil {
		return nil, fmt.Errorf("httpcache: new: %w", err)
	}
	return c, nil
}

// Handler is a handler behind a Cache.
type Handler struct {
	c    *Cache
	next http.Handler
}

// Handler puts the cache in front of next. One cache may serve several handlers if each answers
// for its own paths.
func (c *Cache) Handler(next http.Handler) *Handler { return &Handler{c, next} }

// loadsAtHits reports whether a hit of a fresh page may begin a load: an early refresh, or an audit. The
// policies in force may change, so they are read once a second. Now is in Unix seconds.
func (c *Cache) loadsAtHits(now int64) bool {
	if last := c.judged.Load(); now != last && c.judged.CompareAndSwap(last, now) {
		c.eager.Store(slices.ContainsFunc(c.k.Tiers.Policies(), func(p cache.SpacePolicy) bool {
			return p.Namespace == c.k.Space.Namespace && (p.Policy.RefreshAhead > 0 || p.Policy.Audit > 0)
		}))
	}
	return c.eager.Load()
}

// Middleware is Handler in the form that routers expect.
func (c *Cache) Middleware(next http.Handler) http.Handler { return c.Handler(next) }

// ServeHTTP answers from the cache, or calls the handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.c.serve(h.next, w, r) }

// Close waits until the handlers that render for everybody have returned, or until ctx ends. The
// context of a handler ends when no client needs its response, but the handler may take longer.
// Call Close when no more requests come.
func (c *Cache) Close(ctx context.Context) error {
	return c.k.Close(ctx, "handlers")
}

// KeyOf returns the full key of the entry that answers r, as the library spells it. It reports
// false for a request that bypasses the cache.
func (c *Cache) KeyOf(r *http.Request) (full string, ok bool) {
	t, why := c.target(r)
	if why != reason.None {
		return "", false
	}
	k, err := c.k.Space.Key(key.Text(t.Key))
	return k.String(), err == nil
}

// Under returns the scope of all entries for the host, by http or https, and for paths that begin
// with path. Host is in lower case; path is not escaped. Under covers the spelling that browsers
// use. It does not cover a path whose client escaped more than was needed; PurgePath does.
func (c *Cache) Under(secure bool, host, path string) invalidate.Scope {
	return c.k.Pages.Prefix(address.Readable(address.Scheme(secure) + host + address.EscapedPath(path)))
}

// Purge invalidates the entry that answers r. For a request that bypasses the cache it does
// nothing.
func (c *Cache) Purge(ctx context.Context, r *http.Request) error {
	t, why := c.target(r)
	if why != reason.None || c.cfg.Off {
		return nil
	}
	return c.cfg.Tiers.Invalidate(ctx, c.entries(&t)...)
}

// PurgePath invalidates all entries of a path: of every host, scheme, query and variant. The path
// is not escaped.
func (c *Cache) PurgePath(ctx context.Context, path string) error {
	if c.cfg.Off {
		return nil
	}
	return c.cfg.Tiers.Invalidate(ctx, invalidate.Tag(c.cfg.Tenant, c.pathTag(path)))
}

// PurgeAll invalidates every entry. The time it takes does not depend on their number.
func (c *Cache) PurgeAll(ctx context.Context) error {
	if c.cfg.Off {
		return nil
	}
	return c.k.Pages.DeleteAll(ctx)
}

// Expire makes the entry that answers r stale. Within the policy's Stale and StaleIfError it is
// still served while it is refreshed.
func (c *Cache) Expire(ctx context.Context, r *http.Request) error {
	t, why := c.target(r)
	if why != reason.None || c.cfg.Off {
		return nil
	}
	return c.cfg.Tiers.Expire(ctx, c.entries(&t)...)
}

// entries returns the scopes of the entry that answers t and of its variants and encodings.
func (c *Cache) entries(t *address.Target) []invalidate.Scope {
	if c.cfg.pages() && len(c.cfg.Encodings) == 0 { // no variants or encodings
		return []invalidate.Scope{c.k.Pages.Key(t.Key)}
	}
	return []invalidate.Scope{c.k.Pages.Key(t.Key), c.k.Pages.Prefix(t.Key + "|")}
}

// pageOf makes a page of a handler's response.
func (c *Cache) pageOf(status int, h http.Header, body []byte, made time.Time) *page.Page {
	p := page.New(status, h, body, made, c.cfg.pages())
	p.Format = exchange.FormatOf(h)
	p.Offer(len(c.k.Encodings) > 0)
	return p
}
