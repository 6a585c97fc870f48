package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/twofold-go/twofold/examples/site/admin"
	"github.com/twofold-go/twofold/examples/site/job"
	"github.com/twofold-go/twofold/examples/site/service"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/examples/site/web"
)

// site is the program but for the network.
type site struct {
	http.Handler
	service *service.Service
	job     job.Publisher
}

// siteConfig says what a site is made of.
type siteConfig struct {
	adminKey string
	now      func() time.Time // nil: time.Now
	log      *slog.Logger
}

// newSite puts a site together on a database. A cache goes between the store and
// web, and listens to the service.
func newSite(s *store.Store, cfg siteConfig) *site {
	svc := service.New(s, service.Config{Now: cfg.now})
	mux := http.NewServeMux()
	mux.Handle("/", web.New(web.Config{Reader: s, Log: cfg.log}))
	mux.Handle("/admin/api/", admin.New(admin.Config{Store: s, Service: svc, Key: cfg.adminKey, Log: cfg.log}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		if err := s.Ping(r.Context()); err != nil {
			http.Error(w, "the database does not answer", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	return &site{Handler: mux, service: svc, job: job.Publisher{Due: svc, Log: cfg.log}}
}
