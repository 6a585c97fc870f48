package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/events"
	"github.com/twofold-go/twofold/examples/site/objects"
	"github.com/twofold-go/twofold/examples/site/ops"
	"github.com/twofold-go/twofold/examples/site/warm"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/policy"
	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/local"
)

// caches are the layers in front of the database. Each layer has its own tier, so a flood
// of entries in one layer evicts nothing from the others.
type caches struct {
	objects   content.Reader   // the public side reads from it
	responses *httpcache.Cache // never nil: without caches it still serves conditional requests
	tiers     *cache.Tiers     // of the responses; nil without them
	opened    []*cache.Tiers   // in the order of the layers, the one above the database first
	layers    []ops.Layer      // for the operator's pages; empty without caches
	consumer  *events.Consumer // nil without caches
	warmer    *warm.Warmer     // nil without caches
	metrics   *prometheus.Registry
	patience  time.Duration      // how long a write, a purge or a new process waits for the log
	pages     *httpcache.Handler // serves everything except the API
}

func newCaches(r content.Reader, log func() invalidate.Log, cfg siteConfig) (*caches, error) {
	cfg.limits = cmp.Or(cfg.limits, usual)
	c := &caches{objects: r, metrics: prometheus.NewRegistry(), patience: cmp.Or(cfg.patience, 5*time.Second)}
	var err error
	if !cfg.uncached {
		err = c.open(log, cfg)
	}
	if err == nil {
		c.responses, err = httpcache.New(c.ofResponses(cfg))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close(context.Background()))
	}
	if cfg.uncached {
		return c, nil
	}
	if c.tiers != nil {
		c.layers[0].Pages = c.responses
	}
	c.opened[len(c.opened)-1].OnInvalidate(func(e invalidate.Event) { // by any process
		c.warmer.Add(events.MakePlan(events.Heard(context.Background(), e.Fences, c.objects)).Warm...)
	})
	if err := c.hear(context.Background()); err != nil {
		cfg.log.Warn("the log does not answer, so no entries are served from the caches until it does", "err", err)
	}
	return c, nil
}

// open opens the layers. Each layer reads the log after the layer that it is built from.
func (c *caches) open(log func() invalidate.Log, cfg siteConfig) error {
	layer := func(name string, maxBytes int64, below func(context.Context) error, tc cache.TiersConfig) (*cache.Tiers, error) {
		own := second{log(), below}
		tc.Log, tc.Local, tc.Logger, tc.InvalidateWait = own, local.New(local.Config{MaxBytes: maxBytes}), cfg.log, c.patience
		tc.Policies = policy.Table{{Patch: policy.Patch{Audit: &cfg.audit}}}
		tc.OnStale = func(s cache.StaleHit) {
			cfg.log.Warn("an entry differs from the database, and nothing invalidated it", "layer", name, "key", s.Key, "tags", s.Tags)
		}
		if cfg.link != nil {
			tc.Log = cfg.link(name, own)
		}
		var err error
		if tc.MeterProvider, err = c.meters(name); err != nil {
			return nil, err
		}
		t, err := cache.Open(tc)
		if err == nil {
			c.opened = append(c.opened, t)
		}
		return t, err
	}
	ofObjects, ofResponses := index.New(index.Config{}), index.New(index.Config{})
	present, err := layer("objects", cfg.limits.objects, nil, cache.TiersConfig{OnStored: ofObjects.Stored, OnRemoved: ofObjects.Removed})
	if err != nil {
		return err
	}
	// With OnStored, the layer keeps the texts of its tags for entries that depend on absences.
	absent, err := layer("absences", cfg.limits.absences, present.Ready, cache.TiersConfig{OnStored: func(cache.Entry) {}})
	if err != nil {
		return err
	}
	if c.objects, err = objects.New(c.objects, present, absent, cfg.limits.hotPages); err != nil {
		return err
	}
	c.layers = []ops.Layer{{Name: "objects", Tiers: present, Index: ofObjects}, {Name: "absences", Tiers: absent}}
	c.consume(absent, cfg)
	if cfg.objectsOnly {
		return nil
	}
	evicted := promauto.With(c.metrics).NewCounterVec(prometheus.CounterOpts{
		Name: "site_response_evicted_total", Help: "Responses that left the cache because it was full.",
	}, []string{"format"})
	c.tiers, err = layer("responses", cfg.limits.responses, absent.Ready, cache.TiersConfig{
		OnStored: ofResponses.Stored,
		OnRemoved: func(e cache.Entry, why tier.EvictReason) {
			ofResponses.Removed(e, why)
			if why == tier.Evicted || why == tier.Rejected { // as cache_evict_total counts
				evicted.WithLabelValues(formatOf(e)).Inc()
			}
		},
	})
	c.layers = append([]ops.Layer{{Name: "responses", Tiers: c.tiers, Index: ofResponses}}, c.layers...)
	return err
}

// consume creates what follows a commit. The objects are ready when the absences are.
func (c *caches) consume(objects *cache.Tiers, cfg siteConfig) {
	l, responses := cfg.limits, c.hear
	if cfg.objectsOnly {
		responses = nil
	}
	c.warmer = warm.New(warm.Config{
		Load: c.load, Reader: c.objects, Delay: l.warmDelay, Batch: l.batch, Max: l.warmMax, Log: cfg.log, Metrics: c.metrics,
	})
	c.consumer = events.New(events.Config{
		Objects: objects.Ready, Responses: responses, Warm: c.warmer.Add,
		Batch: l.batch, Max: l.queueMax, After: l.after, Within: c.patience, Log: cfg.log, Metrics: c.metrics,
	})
}

func (c *caches) ofResponses(cfg siteConfig) httpcache.Config {
	return httpcache.Config{
		Tiers:        c.tiers,
		Namespace:    "responses:v1",
		MaxBody:      int(cfg.limits.maxBody),
		Preset:       httpcache.Pages,
		IgnoreWrites: true, // tags invalidate the pages that a write changes
		Off:          cfg.uncached || cfg.objectsOnly,
		Statuses:     []int{http.StatusOK, http.StatusFound},
		Query:        func(at string) ([]string, bool) { return parameters(at), true },
		Logger:       cfg.log,
	}
}

func (c *caches) wrap(next http.Handler) http.Handler {
	h := c.responses.Handler(next)
	if c.pages == nil { // newSite wraps the pages first
		c.pages = h
	}
	return h
}

func (c *caches) load(ctx context.Context, at string) error {
	set, err := c.objects.Settings(ctx)
	if err != nil {
		return err
	}
	_, host, _ := strings.Cut(set.BaseURL, "://")
	_, err = c.pages.Warm(ctx, "http://"+host+at, nil)
	return err
}

// Close closes the caches. Running work may finish until ctx ends.
func (c *caches) Close(ctx context.Context) error {
	var errs []error
	if c.responses != nil {
		errs = append(errs, c.responses.Close(ctx))
	}
	for _, t := range slices.Backward(c.opened) {
		errs = append(errs, t.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("caches: %w", err)
	}
	return nil
}

// hear waits until all layers have applied the invalidations before the call.
func (c *caches) hear(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.patience)
	defer cancel()
	return c.opened[len(c.opened)-1].Ready(ctx) // the layers below apply them first
}
