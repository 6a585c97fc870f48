// Package app assembles the digest program.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/twofold-go/twofold/examples/digest/api"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/tier/redistier"
)

const (
	userAgent = "TwofoldDigest/1.0" // the User-Agent sent to origins
	keepItems = 63 * 24 * time.Hour // how long items are kept after their source last listed them: longer than a monthly digest needs
	opening   = 30 * time.Second    // how long the service may take to read earlier invalidations
)

// Config configures the program.
type Config struct {
	DB    string // the database file; created if it does not exist
	Redis string // URL of a Redis that replaces the file as the store of cells. Empty means the file
	// Env holds settings: see [collector.SettingsFrom] and [summary.FromEnv].
	Env          map[string]string
	Zone         string             // the time zone of the periods; empty means see digest.Config
	Key          string             // the operator's API key; empty means that no key is valid
	BaseURL      string             // the beginning of links in feeds; a URL without a path
	Now          func() time.Time   // nil means time.Now
	Log          *slog.Logger       // nil means slog.Default
	Summariser   summary.Summariser // writes the digests; nil means selected by Env
	ErrorTTL     time.Duration      // see digest.Config
	AllowPrivate bool               // see fetch.Config
	Services     fetchers.Config    // its Client is ignored
}

// App is the program.
type App struct {
	Store     *store.Store
	Digests   *digest.Service
	Fetch     *fetch.Client
	Collector *collector.Collector
	cfg       Config
	handler   http.Handler
	verified  atomic.Pointer[api.Verified]      // nil if there was no verification yet
	close     []func(ctx context.Context) error // called in reverse order
}

// Open opens the database and starts the program's services.
func Open(ctx context.Context, cfg Config) (*App, error) {
	a := &App{cfg: cfg}
	a.cfg.Log = cmp.Or(cfg.Log, slog.Default())
	if err := a.build(ctx); err != nil {
		return nil, errors.Join(err, a.Close(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// Handler returns the handler of the API, the feeds, /healthz and /metrics.
func (a *App) Handler() http.Handler { return a.handler }

// Close waits for running generation until ctx ends, writes the counters, and closes everything.
func (a *App) Close(ctx context.Context) error {
	var errs []error
	for len(a.close) > 0 {
		last := len(a.close) - 1
		errs = append(errs, a.close[last](ctx))
		a.close = a.close[:last]
	}
	return errors.Join(errs...)
}

func (a *App) build(ctx context.Context) (err error) {
	if a.cfg.DB == "" {
		return errors.New("app: a database is required")
	}
	summariser := a.cfg.Summariser
	if summariser == nil {
		if summariser, err = summary.FromEnv(func(name string) string { return a.cfg.Env[name] }); err != nil {
			return err
		}
	}
	// Check the settings before creating a database. The list of types needs no client.
	settings, err := collector.SettingsFrom(a.cfg.Env, fetchers.Types(fetchers.New(a.cfg.Services)))
	if err != nil {
		return err
	}
	meters, metrics, err := openMetrics(a.cfg.Log)
	if err != nil {
		return fmt.Errorf("app: metrics: %w", err)
	}
	if a.Store, err = store.Open(ctx, a.cfg.DB, store.Options{Now: a.cfg.Now}); err != nil {
		return err
	}
	a.close = append(a.close, func(context.Context) error { return a.Store.Close() })
	cfg := digest.Config{
		Store: a.Store, Summariser: summariser, Zone: a.cfg.Zone, ErrorTTL: a.cfg.ErrorTTL,
		Logger: a.cfg.Log, MeterProvider: meters,
	}
	if err := a.openDigests(ctx, cfg); err != nil {
		return err
	}
	return a.openCollector(settings, metrics)
}

func (a *App) openDigests(ctx context.Context, cfg digest.Config) error {
	if a.cfg.Redis != "" {
		opt, err := redis.ParseURL(a.cfg.Redis)
		if err != nil {
			return errors.New("app: redis: want a URL such as redis://localhost:6379") // the cause may quote a password
		}
		rdb := redis.NewClient(redistier.Options(opt))
		a.close = append(a.close, func(context.Context) error { return rdb.Close() })
		cfg.Remote = redistier.New(rdb, redistier.Config{Prefix: "digest"})
	}
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	svc, err := digest.Open(ctx, cfg)
	if err == nil {
		a.Digests = svc
		a.close = append(a.close, svc.Close)
	}
	return err
}

func (a *App) openCollector(settings collector.Settings, metrics http.Handler) (err error) {
	a.Fetch, err = fetch.New(fetch.Config{
		Tiers: a.Digests.Tiers(), UserAgent: userAgent,
		PerHost: cmp.Or(settings.PerHost, collector.DefaultPerHost), AllowPrivate: a.cfg.AllowPrivate,
		Now: a.cfg.Now, Logger: a.cfg.Log,
	})
	if err != nil {
		return err
	}
	a.close = append(a.close, func(context.Context) error { a.Fetch.Close(); return nil })
	services := a.cfg.Services
	services.Client = a.Fetch
	a.Collector, err = collector.New(collector.Config{
		Store: a.Store, Tiers: a.Digests.Tiers(), Fetchers: fetchers.New(services), Settings: settings,
		KeepItems: keepItems, Private: a.cfg.AllowPrivate, Log: a.cfg.Log,
	})
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.Handle("/", api.New(api.Config{
		Store: a.Store, Digests: a.Digests, Collector: a.Collector, Key: a.cfg.Key, BaseURL: a.cfg.BaseURL, Log: a.cfg.Log,
		Verified: a.verified.Load,
	}))
	a.handler = mux
	return nil
}

// openMetrics returns a provider and the handler of its metrics, which name no source, user or
// digest.
func openMetrics(log *slog.Logger) (metric.MeterProvider, http.Handler, error) {
	r := prometheus.NewRegistry()
	e, err := exporter.New(exporter.WithRegisterer(r), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, nil, err
	}
	err = errors.Join(r.Register(collectors.NewGoCollector()),
		r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	h := promhttp.HandlerFor(r, promhttp.HandlerOpts{ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelError)})
	return sdk.NewMeterProvider(sdk.WithReader(e)), h, err
}
