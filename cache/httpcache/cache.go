package httpcache

import (
	"cmp"
	"context"
	"fmt"
	"hash/maphash"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache/internal/exchange"
	"github.com/twofold-go/twofold/cache/httpcache/internal/rules"
	"github.com/twofold-go/twofold/key"
)

// Cache stores responses. New makes one; Handler puts it in front of a handler. All methods may
// be called concurrently.
type Cache struct {
	cfg     Config
	k       exchange.Core
	eagerAt atomic.Int64 // when eager was last set, in Unix seconds
	eager   atomic.Bool
	oddPort atomic.Bool // a host with an unlisted port was logged
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
		Rules: rules.Cache{Shared: true, Pages: cfg.pages(), Targets: cfg.Targets, Fallback: cfg.Fallback.rule()},
		Until: cfg.pages(), Statuses: cfg.Statuses, Ignored: cfg.AuditIgnore,
		Keep: cfg.Keep, MaxBody: cfg.MaxBody, Shown: cfg.shows, Now: cfg.Now, Logger: cfg.Logger,
	}}
	if cfg.Off {
		c.k.Tiers = nil
	}
	if err := c.k.Open(cmp.Or(cfg.Name, DefaultName), cfg.policy(), cfg.Codec); err != nil {
		return nil, fmt.Errorf("httpcache: new: %w", err)
	}
	return c, nil
}

// Handler is a handler behind a Cache.
type Handler struct {
	c     *Cache
	next  http.Handler
	inner bool        // it was made while a request was served
	used  atomic.Bool // it has served one
}

// Handler puts the cache in front of next. One cache may serve several handlers if each answers
// for its own paths.
//
// Some routers and adapters call it, or Middleware, for each request, with a handler that is for that request
// only. Such a request bypasses the cache, and the Logger says once that the cache must be around the router.
func (c *Cache) Handler(next http.Handler) *Handler {
	return &Handler{c: c, next: next, inner: !c.cfg.Off && serving()}
}

// serving reports whether its caller serves a request.
func serving() bool {
	var pcs [256]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, ".ServeHTTP") {
			return true
		}
		if !more {
			return false
		}
	}
}

// forOne reports whether the handler may be for this request only. A handler that serves another one is not.
func (h *Handler) forOne() bool { return h.inner && !h.used.Swap(true) }

// loadsAtHits reports whether a hit of a fresh page may begin a load: an early refresh, or an audit. The
// policies in force may change, so they are read once a second. Now is in Unix seconds.
func (c *Cache) loadsAtHits(now int64) bool {
	if last := c.eagerAt.Load(); now != last && c.eagerAt.CompareAndSwap(last, now) {
		c.eager.Store(slices.ContainsFunc(c.k.Tiers.Policies(), func(p cache.SpacePolicy) bool {
			return p.Namespace == c.k.Space.Namespace && (p.Policy.RefreshAhead > 0 || p.Policy.Audit > 0)
		}))
	}
	return c.eager.Load()
}

// Middleware is Handler in another form. Put it around a router, not into it: routers keep in the
// context of a request what they have found, and the handler does not see that. See Config.ContextKeys.
func (c *Cache) Middleware(next http.Handler) http.Handler { return c.Handler(next) }

// Close waits until the handlers that render for everybody have returned, or until ctx ends. The
// context of a handler ends when no client needs its response, but the handler may take longer.
// Call Close when no more requests come.
func (c *Cache) Close(ctx context.Context) error {
	return c.k.Close(ctx, "handlers")
}

// Conditional answers conditional requests for next as a Cache would, without storing anything. A
// response to a GET that a Cache would store gets a validator and a length. A client that already
// has it gets a 304. A Cache with Off and Pages does the same.
func Conditional(next http.Handler) http.Handler {
	c, err := New(Config{Off: true, Preset: Pages})
	if err != nil { // impossible: the Config is valid
		return next
	}
	return c.Handler(next)
}
