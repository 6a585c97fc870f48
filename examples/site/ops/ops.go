// Package ops is what an operator sees of the site: the page /_cache, with what it
// shows as JSON below /_cache/api/, and /metrics for Prometheus.
//
// The page tells how well the caches do and lately did, what fills them, what the
// last writes came to, and what depends on what; and it purges. It is rendered
// here, without a script, and shows names, keys and numbers, never what is cached.
//
// All of it needs the site's admin key: as a bearer, which programs send, or as the
// password of HTTP Basic with any user name, which browsers ask for. /metrics needs
// it too unless [Config].OpenMetrics is set: how many requests of which kind there
// are is nobody's business by default, and Prometheus sends a bearer if told to.
package ops

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// Objects are the lower layer: what pages are made of.
type Objects interface {
	Stats() (present, absent cache.Stats)
	Index() *index.Index // of what is present
}

// Responses are the upper layer.
type Responses interface {
	Stats() httpcache.Stats
	KeyOf(r *http.Request) (full string, ok bool)
	Under(secure bool, host, path string) invalidate.Scope
	Purger
}

// Purger takes responses away, one at a time or those of a path.
type Purger interface {
	Purge(ctx context.Context, r *http.Request) error
	PurgePath(ctx context.Context, path string) error
	Expire(ctx context.Context, r *http.Request) error
}

// Tiers are where the responses are.
type Tiers interface {
	Stats() cache.Stats
	Invalidate(ctx context.Context, scopes ...invalidate.Scope) error
}

// Changes carries invalidations to both layers, the lower first.
type Changes interface {
	Stats() pipeline.Stats
	Recent() []pipeline.Record
	Entities(ctx context.Context, entities ...content.Entity) error
	Everything(ctx context.Context) error
}

// Caches are what there is to see. All interfaces and Index are required.
type Caches struct {
	Objects   Objects
	Responses Responses
	Tiers     Tiers
	Index     *index.Index // of the responses
	Changes   Changes
	Budgets   Budgets
}

// Budgets say how much memory each tier may take, in bytes. 0: it is not shown.
type Budgets struct{ Objects, Absences, Responses int64 }

// Config says what is shown, and to whom. Its zero value shows nothing to nobody.
type Config struct {
	Key         string  // that a request must bring; empty: none will do
	OpenMetrics bool    // /metrics needs no key
	Caches      *Caches // Nil: the site runs without, and the page says so

	// Site is the public site. When a URL that is cached is looked up, it is asked
	// by HEAD, as a client would ask it, for age and size; the statistics count that
	// as a hit. Nil: they are not told.
	Site http.Handler

	// Queries returns how many queries the database has answered. Nil: it is not told.
	Queries func() int64

	Now    func() time.Time // Nil: time.Now
	Logger *slog.Logger     // is told of purges, refusals and failures. Nil: slog.Default
}

// Handler serves /_cache, everything below it, and /metrics. Make one with New and
// let Run run. All methods may be called concurrently.
type Handler struct {
	cfg     Config
	http    http.Handler
	samples sampler
	done    outcomes
}

// New returns a handler. It refuses Caches that lack something, and names all of it.
func New(cfg Config) (*Handler, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if err := cfg.Caches.validate(); err != nil {
		return nil, fmt.Errorf("ops: new: %w", err)
	}
	h := &Handler{cfg: cfg}
	metrics, err := h.metrics()
	if err != nil {
		return nil, fmt.Errorf("ops: new: %w", err)
	}
	h.http = h.routes(metrics)
	return h, nil
}

func (c *Caches) validate() error {
	if c == nil {
		return nil
	}
	var errs []error
	for _, f := range []struct {
		name    string
		missing bool
	}{
		{"Objects", c.Objects == nil}, {"Responses", c.Responses == nil}, {"Tiers", c.Tiers == nil},
		{"Index", c.Index == nil}, {"Changes", c.Changes == nil},
	} {
		if f.missing {
			errs = append(errs, fmt.Errorf("field Caches.%s is nil", f.name))
		}
	}
	return errors.Join(errs...)
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.http.ServeHTTP(w, r) }

func (h *Handler) routes(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_cache", h.overviewPage)
	mux.Handle("GET /_cache/{$}", http.RedirectHandler("/_cache", http.StatusMovedPermanently))
	mux.HandleFunc("GET /_cache/lookup", h.lookupPage)
	mux.HandleFunc("POST /_cache/purge", h.purgeForm)
	mux.HandleFunc("GET /_cache/ops.css", h.css)
	mux.HandleFunc("GET /_cache/api/stats", h.statsCall)
	mux.HandleFunc("GET /_cache/api/lookup", h.lookupCall)
	mux.HandleFunc("POST /_cache/api/purge", h.purgeCall)
	mux.Handle("GET /metrics", metrics)
	return h.guard(mux)
}
