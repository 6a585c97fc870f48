// Package cachez is an operator's page for the caches of a program. It says first what is wrong, in a
// sentence each: no lease, invalidations that wait, a source that fails, values that cannot be read, stale
// hits. It shows the load and the hit ratio of each namespace and tenant, the state of the tiers and of the
// log, the policies in force, the cached keys and their tags. If the policy's Audit is on, it also shows
// the share of fresh hits. It purges and expires entries. Any program can mount it:
//
//	page, err := cachez.Handler(tiers, cachez.Config{Authorize: isOperator, Index: ix})
//	mux.Handle("/debug/caches", page)
//
// The page is one resource. It answers at any path, also behind http.StripPrefix. A browser gets
// HTML without a script. A program that sends Accept: application/json, or ?format=json, gets
// JSON.
//
// # Requests
//
// GET without a query shows what is wrong, and then the numbers. Rates are about the one or two minutes since an
// earlier view of the page, or the time since Handler if there is none; the page says which. With one of these parameters it looks up entries:
//
//	key=tenant:namespace:id   one entry
//	tag=name                  entries with a tag; add tenant=… if it is not cache.DefaultTenant
//	prefix=tenant:start       keys with a prefix; "tenant:" means all keys of the tenant
//	url=/path?query           the response of a URL                  (with Config.Pages)
//	under=/path               responses whose path has this prefix   (with Config.Pages)
//	all=yes                   everything
//
// POST takes a form with do=purge or do=expire and one of the same fields. A purge also takes
// path=/path, for the responses of every host, query and variant. A purged entry is not served
// any more. An expired entry is stale, and is served as the policy allows. So programs in any language
// invalidate: guide ../../invalidate/WIRE.md has the command, with a token.
//
// A URL without a host has the host and scheme of the request for the page. It is looked up like
// a client's request without headers.
//
// # Guarantees
//
//  1. Without Config.Authorize every request is refused. A refused request is not read, and its
//     answer is only a 403.
//  2. The page shows names, keys and numbers, never a value. A look-up loads nothing, does not
//     count as a read, and does not use a remote tier: "cached" means in this process. One look-up
//     lists keys at a time, and a store waits for at most 1,024 keys of it.
//  3. A form of another site is refused. A request with a field that is unknown, repeated or too
//     long is refused, too, because a misspelled purge must not become a larger one.
//  4. Browsers, and caches on the way, store nothing.
package cachez

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
)

// Config says what the page shows, and to which clients. The zero value refuses every request.
type Config struct {
	// Authorize reports whether a request comes from an operator. It is called first, for reads
	// and for purges, by many goroutines concurrently. Nil refuses every request.
	Authorize func(*http.Request) bool

	// AuthorizeKeys reports whether a request may see keys and tags in the list of stale hits. It is
	// called after Authorize, also concurrently. If nil, every operator sees them if there is an
	// Index, which lists keys anyway, and no operator otherwise.
	AuthorizeKeys func(*http.Request) bool

	// Title names the caches. Empty means "Caches".
	Title string

	// Index is attached to the Tiers by OnStored and OnRemoved. With it the page looks up keys,
	// and says how many entries a purge covers. Nil turns both off.
	Index *index.Index

	// Pages is a cache of responses on these Tiers. Nil turns off look-ups and purges by URL and
	// path.
	Pages *httpcache.Cache

	// Invalidate does a purge by key, tag or prefix, or of everything. A program that invalidates
	// within transactions sets its own function. Nil means Invalidate of the Tiers. Pages purges
	// responses, and Expire is always that of the Tiers.
	Invalidate func(ctx context.Context, scopes ...invalidate.Scope) error

	// Logger gets purges, refusals and failures, never a key. Nil means slog.Default.
	Logger *slog.Logger
}

// Handler returns the page of tiers, which must stay open while the page is used. Nil tiers are
// an error. The handler may be called concurrently.
func Handler(tiers *cache.Tiers, cfg Config) (http.Handler, error) {
	if tiers == nil {
		return nil, errors.New("cachez: handler: tiers is nil: make it with cache.Open")
	}
	if cfg.Title == "" {
		cfg.Title = "Caches"
	}
	if cfg.Invalidate == nil {
		cfg.Invalidate = tiers.Invalidate
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	h := &handler{Config: cfg, tiers: tiers, origins: http.NewCrossOriginProtection(), turn: make(chan struct{}, 1)}
	start := h.snapshot()
	start.made = true
	h.views.older, h.views.newer = start, start
	return h, nil
}

type handler struct {
	Config
	tiers   *cache.Tiers
	origins *http.CrossOriginProtection
	turn    chan struct{} // holds an element while a look-up lists keys
	views   views
}

// ServeHTTP answers a request.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	p := &page{}
	var err error
	if h.Authorize == nil || !h.Authorize(r) {
		h.Logger.WarnContext(r.Context(), "cachez: request refused", "method", r.Method, "from", r.RemoteAddr)
		err = faultf(http.StatusForbidden, "this page is for operators: see Config.Authorize of the program")
	} else {
		p.Title = h.Title
		err = h.answer(w, r, p)
	}
	if err != nil {
		p.fail(h.explain(r, err))
	}
	h.write(w, r, p)
}

func (h *handler) answer(w http.ResponseWriter, r *http.Request, p *page) error {
	if h.origins.Check(r) != nil {
		return faultf(http.StatusForbidden, "another site sent this form: send it from this page, or without Origin and Sec-Fetch-Site")
	}
	query, err := queryOf(r)
	if err != nil {
		return err
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		p.Forms = h.forms()
		if len(query) > 0 {
			p.Found, err = h.look(r, query)
		} else {
			p.Overview = h.overview(r)
		}
		return err
	case http.MethodPost:
		if len(query) > 0 {
			return faultf(http.StatusBadRequest, "the query has %d fields: send them in the body; the query may have format only", len(query))
		}
		p.Forms = h.forms()
		p.Done, err = h.act(w, r)
		return err
	}
	w.Header().Set("Allow", "GET, HEAD, POST")
	return faultf(http.StatusMethodNotAllowed, "the method is not allowed: send GET to look, POST to purge")
}

// fault is a mistake in a request.
type fault struct {
	status int
	text   string
}

func (f *fault) Error() string { return f.text }

func faultf(status int, format string, args ...any) error {
	return &fault{status, fmt.Sprintf(format, args...)}
}

// explain returns the answer for an error. The cause of a failure goes only to the log.
func (h *handler) explain(r *http.Request, err error) (status int, text string) {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.status, f.text
	}
	if e, ok := errors.AsType[*cache.Error](err); ok {
		err = e.Err // without the key
	}
	h.Logger.ErrorContext(r.Context(), "cachez: request failed", "error", err)
	return http.StatusServiceUnavailable, "it may have failed: the log says why; send it again"
}
