package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/twofold-go/twofold/examples/site/admin"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/job"
	"github.com/twofold-go/twofold/examples/site/ops"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/examples/site/web"
	"github.com/twofold-go/twofold/invalidate"
)

// site is the program but for the network.
type site struct {
	http.Handler
	service *service.Service
	reader  content.Reader // what the public side is built from
	job     job.Publisher
	ops     *ops.Handler
	*caches
}

// siteConfig says what a site is made of.
type siteConfig struct {
	adminKey string
	uncached bool
	now      func() time.Time // nil: time.Now
	log      *slog.Logger     // nil: slog.Default

	// link, if set, returns the log that a layer follows in place of its own. It is for
	// tests: to watch, to wait in between, and to break what they must notice.
	link func(layer string, own second) invalidate.Log
}

// newSite puts a site together on a database. The public side reads through the
// caches, the admin API from the store. The caches hear of what the service writes,
// here and in other processes on the same database. Close ends it, and the store is to
// be closed after it.
func newSite(s *store.Store, cfg siteConfig) (*site, error) {
	if cfg.log == nil {
		cfg.log = slog.Default()
	}
	c, err := newCaches(s, func() invalidate.Log { return s.Log() }, cfg)
	if err != nil {
		return nil, err
	}
	t := &site{reader: s, caches: c}
	sc := service.Config{Now: cfg.now}
	if !cfg.uncached { // or there is nobody to tell
		t.reader, sc.Publisher = c.objects, c.changes
	}
	t.service = service.New(s, sc)
	t.job = job.Publisher{Due: t.service, Log: cfg.log}
	mux := http.NewServeMux()
	public := web.New(web.Config{Reader: t.reader, Log: cfg.log, Wrap: c.wrap})
	mux.Handle("/", public)
	mux.Handle("/admin/api/", admin.New(admin.Config{Store: s, Service: t.service, Key: cfg.adminKey, Log: cfg.log}))
	t.ops, err = ops.New(ops.Config{
		Key: cfg.adminKey, Caches: c.shown(s), Metrics: c.metrics, Queries: s.Queries, Now: cfg.now, Logger: cfg.log,
	})
	if err != nil {
		return nil, errors.Join(err, c.Close(context.Background()))
	}
	for _, path := range []string{"/_cache", "/_cache/", "/metrics"} {
		mux.Handle(path, t.ops)
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

// work does what is due in the background, until ctx ends.
func (s *site) work(ctx context.Context) {
	var wg sync.WaitGroup
	wg.Go(func() { s.job.Run(ctx) })
	wg.Go(func() { s.ops.Run(ctx) })
	if s.changes != nil {
		wg.Go(func() { s.changes.Run(ctx) })
	}
	wg.Wait()
}
