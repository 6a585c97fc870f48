// Package cachez is an operator's page for the caches of a program: how well they do, what
// holds them up, which policies are in force, what is cached and what that depends on. It
// purges and expires, too. Any program mounts it:
//
//	page, err := cachez.Handler(tiers, cachez.Config{Authorize: isOperator, Index: ix})
//	mux.Handle("/debug/caches", page)
//
// The page is one resource: it answers at whatever path it is mounted, also behind
// http.StripPrefix. A browser gets HTML without a script; a program that asks for
// application/json, or with ?format=json, gets JSON.
//
// # Requests
//
// GET without a query shows the numbers. With one of these parameters it looks up:
//
//	key=tenant:namespace:id   one entry
//	tag=name                  what carries a tag; tenant=… if it is not cache.DefaultTenant
//	prefix=tenant:start       the keys that begin so; "tenant:" is all that a tenant has
//	url=/path?query           the response that answers a URL     (with Config.Pages)
//	under=/path               the responses whose path begins so  (with Config.Pages)
//	all=yes                   everything
//
// POST takes a form with do=purge or do=expire and one of the same fields. A purge takes
// path=/path as well: the responses of every host, query and variant. What is purged is not
// served any more. What is expired is stale, and served as the policy allows.
//
// A URL without a host is of the host and the scheme by which the page was asked. It is
// looked up as if a client had asked for it that sends no header.
//
// # What a reader may rely on
//
//  1. Without Config.Authorize nobody gets anything, and a request that it refuses is
//     neither read nor answered by more than 403.
//  2. Names, keys and numbers are shown: never a value. A look-up loads nothing, counts as
//     no read, and asks no remote tier: "cached" means in this process.
//  3. A form of another site is refused. A request with a field that is unknown, there twice
//     or too long is refused as a whole: a misspelled purge is not a larger one.
//  4. Nothing is stored by browsers or caches on the way.
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

// Config says what the page shows, and to whom. The zero value refuses every request.
type Config struct {
	// Authorize reports whether a request comes from an operator. It is asked first, for
	// reading as for purging, by many goroutines at a time. Nil: nobody is one.
	Authorize func(*http.Request) bool

	// Title names the caches. Empty: "Caches".
	Title string

	// Index is attached to the Tiers by OnStored and OnRemoved. With it the page looks up
	// keys, and says how many entries a purge covers. Nil: it does neither.
	Index *index.Index

	// Pages is a cache of responses on these Tiers. Nil: there are no URLs and paths to ask
	// for or to purge.
	Pages *httpcache.Cache

	// Invalidate does what a purge by key, tag or prefix, or of everything, asks for. A program
	// that invalidates within transactions passes that. Nil: Invalidate of
	// the Tiers. Responses are purged by Pages, and Expire is always that of the Tiers.
	Invalidate func(ctx context.Context, scopes ...invalidate.Scope) error

	// Logger is told of purges, refusals and failures; never of a key. Nil: slog.Default.
	Logger *slog.Logger
}

// Handler returns the page of tiers, which must stay open while it is used. It refuses tiers
// that are nil. The handler may be called concurrently.
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
	return &handler{Config: cfg, tiers: tiers, origins: http.NewCrossOriginProtection()}, nil
}

type handler struct {
	Config
	tiers   *cache.Tiers
	origins *http.CrossOriginProtection
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

// answer fills the page for a request that may see it.
func (h *handler) answer(w http.ResponseWriter, r *http.Request, p *page) error {
	if h.origins.Check(r) != nil {
		return faultf(http.StatusForbidden, "this form was sent by another site: send it from this page, or without Origin and Sec-Fetch-Site")
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
			p.Overview = h.overview()
		}
		return err
	case http.MethodPost:
		if len(query) > 0 {
			return faultf(http.StatusBadRequest, "the query has %d fields: send them in the body; the query may have format alone", len(query))
		}
		p.Forms = h.forms()
		p.Done, err = h.act(w, r)
		return err
	}
	w.Header().Set("Allow", "GET, HEAD, POST")
	return faultf(http.StatusMethodNotAllowed, "the method is not known here: send GET to look, POST to purge")
}

// fault is what the sender of a request got wrong.
type fault struct {
	status int
	text   string
}

func (f *fault) Error() string { return f.text }

func faultf(status int, format string, args ...any) error {
	return &fault{status, fmt.Sprintf(format, args...)}
}

// explain returns what to tell of an error. Only the log is told of failures.
func (h *handler) explain(r *http.Request, err error) (status int, text string) {
	if f, ok := errors.AsType[*fault](err); ok {
		return f.status, f.text
	}
	h.Logger.ErrorContext(r.Context(), "cachez: request failed", "err", err)
	return http.StatusServiceUnavailable, "it may not be done: the log says why; send it again"
}
