package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/cachez"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/invalidate/logtest"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// article is the cached value.
type article struct {
	ID    int
	Title string
}

// shop is two processes of one fleet. The second one only invalidates and has no metrics.
type shop struct {
	registry *prometheus.Registry
	provider *sdk.MeterProvider
	tiers    []*cache.Tiers
	here     cache.Cache[int, article]
	there    cache.Cache[int, article]
	page     http.Handler // the operator's page of the first process
}

func newShop() (*shop, error) {
	s := &shop{registry: prometheus.NewRegistry()}
	e, err := exporter.New(exporter.WithRegisterer(s.registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	s.provider = sdk.NewMeterProvider(sdk.WithReader(e))
	log, remote := logtest.NewMemory(logtest.MemoryConfig{}), tiertest.NewMemory()
	ix := index.New(index.Config{})
	open := func(cfg cache.TiersConfig) (c cache.Cache[int, article], err error) {
		cfg.Remote, cfg.Log, cfg.Logger = remote, log, slog.New(slog.DiscardHandler)
		t, err := cache.Open(cfg)
		if err != nil {
			return c, err
		}
		s.tiers = append(s.tiers, t)
		articles := cache.For("articles:v1", load)
		articles.Tags = func(id int, _ article) []string { return []string{fmt.Sprint("shelf:", id%10)} }
		articles.Policy = policy.Patch{TTL: new(5 * time.Second), Stale: new(time.Minute), StaleIfError: new(time.Minute), NegativeTTL: new(time.Second), Audit: new(0.01)}
		return cache.New(t, articles)
	}
	if s.here, err = open(cache.TiersConfig{MeterProvider: s.provider, OnStored: ix.Stored, OnRemoved: ix.Removed}); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if s.there, err = open(cache.TiersConfig{}); err != nil {
		return nil, errors.Join(err, s.close())
	}
	everybody := func(*http.Request) bool { return true } // the articles are invented
	if s.page, err = cachez.Handler(s.tiers[0], cachez.Config{Title: "Caches of the shop", Authorize: everybody, Index: ix}); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

var errDown = errors.New("the source is down")

// load is the source. One article in fifty does not exist, and one call in fifty fails.
func load(_ context.Context, id int) (article, error) {
	switch {
	case id%50 == 7:
		return article{}, cache.ErrNotFound
	case rand.IntN(50) == 0:
		return article{}, errDown
	}
	return article{id, fmt.Sprint("article ", id)}, nil
}

// round makes a hundred reads, most of them of the same few articles. It then changes one
// article in the other process.
func (s *shop) round(ctx context.Context) {
	for range 100 {
		_, _ = s.here.Get(ctx, int(rand.ExpFloat64()*50)) // one load in fifty fails
	}
	id := rand.IntN(100)
	_, _ = s.there.Get(ctx, id)
	_ = s.there.Delete(ctx, id)
	if id%10 == 0 {
		_ = s.tiers[1].Invalidate(ctx, s.there.Tag(fmt.Sprint("shelf:", id/10)))
	}
}

func (s *shop) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/caches", http.StatusFound))
	mux.Handle("/caches", s.page)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	return mux
}

func (s *shop) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var errs []error
	for _, t := range s.tiers {
		errs = append(errs, t.Close(ctx))
	}
	return errors.Join(append(errs, s.provider.Shutdown(ctx))...)
}
