// Package ops is what an operator sees of the site: the page /_cache, the same as JSON at
// /_cache/stats, a page of package cachez for each layer below /_cache, and /metrics for
// Prometheus.
//
// /_cache tells how well the caches lately did, what the last writes came to and how the
// pipeline does. The pages of the layers tell what is cached and what that depends on, and
// purge. All are rendered without a script, and show names, keys and numbers, never what
// is cached.
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

	"github.com/prometheus/client_golang/prometheus"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// Objects are what pages are made of: what there is, and what there is not.
type Objects interface {
	Stats() (present, absent cache.Stats)
}

// Responses are made of objects.
type Responses interface {
	Stats() httpcache.Stats
}

// Changes carries writes to both.
type Changes interface {
	Stats() pipeline.Stats
	Recent() []pipeline.Record
}

// Layer is tiers that have a page of their own, at /_cache/NAME.
type Layer struct {
	Name  string
	Tiers *cache.Tiers
	Index *index.Index     // Nil: none is kept
	Pages *httpcache.Cache // Nil: it does not hold responses
}

// Caches are what there is to see. All interfaces are required.
type Caches struct {
	Objects   Objects
	Responses Responses
	Changes   Changes
	Layers    []Layer

	// Invalidate does what an operator purges. Nil: Invalidate of the layer's tiers.
	Invalidate func(ctx context.Context, scopes ...invalidate.Scope) error
}

// Config says what is shown, and to whom. Its zero value shows nothing to nobody.
type Config struct {
	Key         string  // that a request must bring; empty: none will do
	OpenMetrics bool    // /metrics needs no key
	Caches      *Caches // Nil: the site runs without, and the page says so

	// Metrics are shown at /metrics beside those of the site. Nil: none are.
	Metrics prometheus.Gatherer

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
	var err error
	if h.http, err = h.routes(); err != nil {
		return nil, fmt.Errorf("ops: new: %w", err)
	}
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
		{"Objects", c.Objects == nil}, {"Responses", c.Responses == nil}, {"Changes", c.Changes == nil},
	} {
		if f.missing {
			errs = append(errs, fmt.Errorf("field Caches.%s is nil", f.name))
		}
	}
	return errors.Join(errs...)
}

// layers returns the layers; none without caches.
func (c *Caches) layers() []Layer {
	if c == nil {
		return nil
	}
	return c.Layers
}

// ServeHTTP answers a request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.http.ServeHTTP(w, r) }

func (h *Handler) routes() (http.Handler, error) {
	metrics, err := h.metrics()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_cache", h.page)
	mux.Handle("GET /_cache/{$}", http.RedirectHandler("/_cache", http.StatusMovedPermanently))
	mux.HandleFunc("GET /_cache/stats", h.stats)
	mux.HandleFunc("GET /_cache/ops.css", h.css)
	mux.Handle("GET /metrics", metrics)
	for _, l := range h.cfg.Caches.layers() {
		page, err := cachez.Handler(l.Tiers, cachez.Config{
			Authorize: h.hasKey, Title: "The cache of " + l.Name, Index: l.Index, Pages: l.Pages,
			Invalidate: h.cfg.Caches.Invalidate, Logger: h.cfg.Logger,
		})
		if err != nil {
			return nil, fmt.Errorf("layer %q: %w", l.Name, err)
		}
		mux.Handle("/_cache/"+l.Name, page)
	}
	return h.guard(mux), nil
}
