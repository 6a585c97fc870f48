package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/examples/site/admin"
	"github.com/twofold-go/twofold/examples/site/ops"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/examples/site/web"
	"github.com/twofold-go/twofold/invalidate"
)

// site is the program without its listener.
type site struct {
	http.Handler
	service *service.Service
	every   time.Duration // interval of the checks for due posts
	log     *slog.Logger
	*caches
}

type siteConfig struct {
	adminKey    string
	uncached    bool
	objectsOnly bool // without a cache of responses
	limits      limits
	audit       float64          // the share of hits that are compared with the database
	now         func() time.Time // nil means time.Now
	patience    time.Duration    // how long a write, a purge or a new process waits for the log; 0 means 5 s
	log         *slog.Logger     // nil means slog.Default
	// link, if set, replaces the log of a layer, for tests.
	link func(layer string, own second) invalidate.Log
}

// limits limit the memory of the caches, and say how often background work runs.
type limits struct {
	objects, absences, responses, maxBody int64 // bytes
	hotPages, warmMax, queueMax, batch    int
	warmDelay, schedule, poll, after      time.Duration
}

var usual = limits{
	objects: 16 << 20, absences: 256 << 10, responses: 64 << 20, maxBody: httpcache.DefaultMaxBody, hotPages: 10,
	warmMax: 1000, queueMax: 2048, batch: 100, after: 5 * time.Second,
	warmDelay: 250 * time.Millisecond, schedule: time.Second, poll: 500 * time.Millisecond,
}

// newSite assembles a site on a database. Close the site before the store.
func newSite(s *store.Store, cfg siteConfig) (*site, error) {
	cfg.log = cmp.Or(cfg.log, slog.Default())
	c, err := newCaches(s.Reader(), func() invalidate.Log { return s.Log(cfg.limits.poll) }, cfg)
	if err != nil {
		return nil, err
	}
	t := &site{every: cmp.Or(cfg.limits, usual).schedule, log: cfg.log, caches: c}
	sc := service.Config{Now: cfg.now}
	if !cfg.uncached {
		sc.Publish = c.consumer.Publish
	}
	t.service = service.New(s, sc)
	mux := http.NewServeMux()
	ac := admin.Config{Store: s, Service: t.service, Key: cfg.adminKey, Log: cfg.log}
	mux.Handle("/", web.New(web.Config{Reader: c.objects, Writes: admin.NewWrites(ac), Log: cfg.log, Wrap: c.wrap}))
	mux.Handle("/admin/api/", admin.New(ac))
	mux.Handle("/admin/posts", admin.NewForm(ac))
	operators, err := ops.New(ops.Config{
		Key: cfg.adminKey, Layers: c.layers, Responses: c.responses, Metrics: c.metrics, Queries: s.Queries, Logger: cfg.log,
		Invalidate: func(ctx context.Context, scopes ...invalidate.Scope) error {
			if err := s.Write(ctx, func(tx *store.Tx) error { return tx.Invalidate(ctx, scopes...) }); err != nil {
				return err
			}
			return c.hear(ctx)
		},
	})
	if err != nil {
		return nil, errors.Join(err, c.Close(context.Background()))
	}
	for _, path := range []string{"/_cache", "/_cache/", "/metrics"} {
		mux.Handle(path, operators)
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := s.Ping(r.Context()); err != nil {
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	t.Handler = mux
	return t, nil
}
