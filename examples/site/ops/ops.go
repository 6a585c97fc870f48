// Package ops serves the operator's pages: /_cache, with a page of cachez for each layer,
// and /metrics. All need the admin key, as a bearer token or as the password of HTTP Basic.
package ops

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html/template"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/examples/internal/call"
	"github.com/twofold-go/twofold/invalidate"
)

// Layer is a set of tiers with its own page at /_cache/NAME.
type Layer struct {
	Name  string
	Tiers *cache.Tiers
	Index *index.Index     // nil means no index
	Pages *httpcache.Cache // nil means that the layer holds no responses
}

// Config configures the pages. Metrics and Queries are required.
type Config struct {
	Key       string               // that a request must send; empty means that no request has access
	Metrics   *prometheus.Registry // already has the metrics of the layers; New adds the others
	Queries   func() int64         // returns the number of queries that the database has answered
	Logger    *slog.Logger         // Nil means slog.Default
	Layers    []Layer              // empty means that the site runs without caches, and the page says so
	Responses *httpcache.Cache     // one of the layers
	// Invalidate makes the operator's invalidations.
	Invalidate func(ctx context.Context, scopes ...invalidate.Scope) error
}

//go:embed overview.html
var source string

var overviewPage = template.Must(template.New("overview").Parse(source))

var headers = map[string]string{
	"Content-Security-Policy":      "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "same-origin",
}

// New returns the handler of /_cache, everything below it, and /metrics.
func New(cfg Config) (http.Handler, error) {
	cfg.Logger = cmp.Or(cfg.Logger, slog.Default())
	guard := call.Guard{API: &call.API{Log: cfg.Logger}, Key: cfg.Key, Basic: true}
	register(cfg)
	var overview bytes.Buffer
	if err := overviewPage.Execute(&overview, cfg.Layers); err != nil {
		return nil, fmt.Errorf("ops: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_cache", func(w http.ResponseWriter, _ *http.Request) {
		call.Send(w, http.StatusOK, "text/html; charset=utf-8", overview.Bytes())
	})
	mux.Handle("GET /_cache/{$}", http.RedirectHandler("/_cache", http.StatusMovedPermanently))
	mux.Handle("GET /metrics", promhttp.HandlerFor(cfg.Metrics, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelError),
	}))
	for _, l := range cfg.Layers {
		page, err := cachez.Handler(l.Tiers, cachez.Config{
			Authorize: guard.Has, Title: "The cache of " + l.Name, Index: l.Index, Pages: l.Pages,
			Invalidate: cfg.Invalidate, Logger: cfg.Logger,
		})
		if err != nil {
			return nil, fmt.Errorf("ops: layer %q: %w", l.Name, err)
		}
		mux.Handle("/_cache/"+l.Name, page)
	}
	return guard.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		mux.ServeHTTP(w, r)
	})), nil
}

func register(cfg Config) {
	cfg.Metrics.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "site_database_queries_total", Help: "Queries that the database has answered.",
		}, func() float64 { return float64(cfg.Queries()) }),
	)
	if len(cfg.Layers) > 0 {
		cfg.Metrics.MustRegister(collector{cfg})
	}
}

type collector struct{ Config }

// Describe implements [prometheus.Collector]. It describes nothing: formats appear with requests.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c collector) Collect(to chan<- prometheus.Metric) {
	for format, n := range c.Responses.Stats().Formats {
		for result, n := range map[string]int64{"hit": n.Hits, "stale": n.Stale, "miss": n.Misses, "coalesced": n.Coalesced} {
			to <- prometheus.MustNewConstMetric(requests, prometheus.CounterValue, float64(n), format, result)
		}
	}
}

var requests = prometheus.NewDesc("site_response_requests_total", "Requests that the cache of responses may answer, by result.",
	[]string{"format", "result"}, nil)
