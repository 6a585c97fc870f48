// Package app puts the digest program together: the database, the digests and their
// cache, the client and the collector, the HTTP API, and the metrics of all of them.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"

	"github.com/twofold-go/twofold/examples/digest/api"
	"github.com/twofold-go/twofold/examples/digest/collector"
	"github.com/twofold-go/twofold/examples/digest/collector/fetchers"
	"github.com/twofold-go/twofold/examples/digest/digest"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
	"github.com/twofold-go/twofold/examples/internal/fetch"
	"github.com/twofold-go/twofold/tier/redistier"
)

// UserAgent is what origins are told, unless a Config says something else. Operators
// should say where they can be found.
const UserAgent = "TwofoldDigest/1.0"

// keepItems is how long items are kept after their source has last listed them. The
// document's 30 days are the collector's default, and too few for a month's digest: it may
// be asked for until the next month is over, of items that are two months old by then.
const keepItems = 63 * 24 * time.Hour

// opening is how long it may take to hear of what was invalidated before.
const opening = 30 * time.Second

// Config says what the program is. DB is required.
type Config struct {
	DB    string // the database's file, made if there is none
	Redis string // where processes share cells instead of in the file: a URL. Empty: the file

	// Env holds the settings of the collector and of the summariser: see
	// [collector.SettingsFrom] and [summary.FromEnv].
	Env map[string]string

	Zone    string           // whose calendar periods follow; empty: digest.DefaultZone
	Key     string           // the operator's, for the API; empty: none will do
	BaseURL string           // what links in feeds begin with; empty: api.DefaultBaseURL
	Now     func() time.Time // nil: time.Now
	Log     *slog.Logger     // nil: slog.Default

	// Summariser writes the digests. Nil: the one that Env asks for.
	Summariser summary.Summariser

	UserAgent    string          // empty: UserAgent
	AllowPrivate bool            // see fetch.Config
	Services     fetchers.Config // but for its Client
}

// App is the program. Its fields are for use and not to be replaced. All of them may be
// used concurrently.
type App struct {
	Store     *store.Store
	Digests   *digest.Service
	Fetch     *fetch.Client
	Collector *collector.Collector

	cfg     Config
	handler http.Handler
	metrics *prometheus.Registry
	close   []func(ctx context.Context) error // in reverse order
}

// Open opens the program on its database. It does nothing by itself: see [App.Serve].
// ctx bounds how long opening may take. All that is wrong with the settings is reported
// at once, and without quoting what may be secret.
func Open(ctx context.Context, cfg Config) (*App, error) {
	a := &App{cfg: cfg, metrics: prometheus.NewRegistry()}
	a.cfg.Log = cmp.Or(cfg.Log, slog.Default())
	if err := a.build(ctx); err != nil {
		return nil, errors.Join(err, a.Close(context.WithoutCancel(ctx)))
	}
	return a, nil
}

// Handler returns the handler of the API, the feeds, /healthz and /metrics.
func (a *App) Handler() http.Handler { return a.handler }

// Close closes everything, the last thing first: what is being generated is waited for
// until ctx ends, and what was counted is written.
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
	// What can be fetched is known before there is a client: settings are judged before
	// a database is made.
	settings, err := collector.SettingsFrom(a.cfg.Env, fetchers.Types(fetchers.New(a.cfg.Services)))
	if err != nil {
		return err
	}
	if a.Store, err = store.Open(ctx, a.cfg.DB, store.Options{Now: a.cfg.Now}); err != nil {
		return err
	}
	a.close = append(a.close, func(context.Context) error { return a.Store.Close() })
	if err := a.openDigests(ctx, summariser); err != nil {
		return err
	}
	if err := a.openCollector(settings); err != nil {
		return err
	}
	return a.buildHandler()
}

func (a *App) openDigests(ctx context.Context, s summary.Summariser) error {
	meters, err := metersOf(a.metrics)
	if err != nil {
		return fmt.Errorf("app: metrics: %w", err)
	}
	cfg := digest.Config{Store: a.Store, Summariser: s, Zone: a.cfg.Zone, Logger: a.cfg.Log, MeterProvider: meters}
	if a.cfg.Redis != "" {
		opt, err := redis.ParseURL(a.cfg.Redis)
		if err != nil {
			return errors.New("app: redis: a URL such as redis://localhost:6379 is wanted") // the cause may quote a password
		}
		rdb := redis.NewClient(redistier.Options(opt))
		a.close = append(a.close, func(context.Context) error { return rdb.Close() })
		cfg.Remote = redistier.New(rdb, redistier.Config{Prefix: "digest"})
	}
	ctx, cancel := context.WithTimeout(ctx, opening)
	defer cancel()
	svc, err := digest.Open(ctx, cfg)
	if err != nil {
		return err
	}
	a.Digests = svc
	a.close = append(a.close, svc.Close)
	return nil
}

// openCollector opens the collector. It caches in the tiers of the digests, so answers
// and their validators outlive the process, and are shared by all that collect.
func (a *App) openCollector(settings collector.Settings) (err error) {
	a.Fetch, err = fetch.New(fetch.Config{
		Tiers: a.Digests.Tiers(), UserAgent: cmp.Or(a.cfg.UserAgent, UserAgent),
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
		KeepItems: keepItems, Log: a.cfg.Log,
	})
	return err
}

func (a *App) buildHandler() error {
	zone, err := time.LoadLocation(cmp.Or(a.cfg.Zone, digest.DefaultZone))
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	metrics, err := a.showMetrics()
	if err != nil {
		return fmt.Errorf("app: metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	mux.Handle("/", api.New(api.Config{
		Store: a.Store, Digests: a.Digests, Collector: a.Collector, Key: a.cfg.Key, BaseURL: a.cfg.BaseURL, Location: zone, Log: a.cfg.Log,
	}))
	a.handler = mux
	return nil
}
