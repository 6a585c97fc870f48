package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/cache/httpcache"
	"github.com/twofold-go/twofold/cache/index"
	"github.com/twofold-go/twofold/examples/site/changes"
	"github.com/twofold-go/twofold/examples/site/content"
	"github.com/twofold-go/twofold/examples/site/objects"
	"github.com/twofold-go/twofold/examples/site/ops"
	"github.com/twofold-go/twofold/examples/site/store"
	"github.com/twofold-go/twofold/invalidate"
	"github.com/twofold-go/twofold/invalidate/pipeline"
	"github.com/twofold-go/twofold/tier/local"
)

// responseBytes is how much memory responses may take.
const responseBytes = 64 << 20

// caches are the two layers in front of the database: the objects that pages are
// made of, and the responses that are made of objects. They have a tier each, so
// that a flood of one pushes nothing out of the other. Each follows the log in the
// database, so the caches hear of every write, whichever process made it.
type caches struct {
	objects   *objects.Cache   // nil without caches
	responses *httpcache.Cache // never nil: without caches it still answers conditional requests
	tiers     *cache.Tiers     // of the responses
	index     *index.Index
	changes   *changes.Publisher   // nil without caches
	metrics   *prometheus.Registry // of all of them
	pages     *httpcache.Handler   // everything but the API
}

// newCaches returns caches in front of r, which follow the logs that log returns.
func newCaches(r content.Reader, log func() invalidate.Log, cfg siteConfig) (c *caches, err error) {
	c = &caches{index: index.New(index.Config{}), metrics: prometheus.NewRegistry()}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close(context.Background()))
		}
	}()
	rc := httpcache.Config{
		Namespace:    "responses:v1",
		Lifetime:     httpcache.UntilInvalidated,
		KeyOnly:      true,
		IgnoreWrites: true, // what a write changes is invalidated by tags
		Off:          cfg.uncached,
		Statuses:     []int{http.StatusOK, http.StatusFound},
		StoreMissing: func(string) bool { return false },
		Query:        func(path string) ([]string, bool) { return parameters(path), true },
		Format:       format,
		Logger:       cfg.log,
	}
	if cfg.uncached {
		c.responses, err = httpcache.New(rc)
		return c, err
	}
	follow := func(layer string, below func(context.Context) error) invalidate.Log {
		l := second{log(), below}
		if cfg.link != nil {
			return cfg.link(layer, l)
		}
		return l
	}
	if c.objects, err = objects.New(r, objects.Config{Logger: cfg.log, Log: follow, Meters: c.meters}); err != nil {
		return c, err
	}
	ofResponses, err := c.meters("responses")
	if err != nil {
		return c, err
	}
	c.tiers, err = cache.Open(cache.TiersConfig{
		Local: local.New(local.Config{MaxBytes: responseBytes}), Logger: cfg.log, MeterProvider: ofResponses,
		Log:      follow("responses", c.objects.Ready),
		OnStored: c.index.Stored, OnRemoved: c.index.Removed,
	})
	if err != nil {
		return c, err
	}
	rc.Tiers = c.tiers
	if c.responses, err = httpcache.New(rc); err != nil {
		return c, err
	}
	ofChanges, err := c.meters("")
	if err != nil {
		return c, err
	}
	c.changes, err = changes.New(changes.Config{
		Stages: []pipeline.Stage{{Name: "caches", Invalidate: func(ctx context.Context, _ []string, _ bool) error { return c.hear(ctx) }}},
		Warm:   c.warm, Logger: cfg.log, MeterProvider: ofChanges,
	})
	if err != nil {
		return c, err
	}
	if err := c.hear(context.Background()); err != nil {
		cfg.log.Warn("the log does not answer: nothing is served from the caches until it does", "err", err)
	}
	return c, nil
}

// wrap puts the responses in front of a handler.
func (c *caches) wrap(next http.Handler) http.Handler {
	h := c.responses.Handler(next)
	if c.pages == nil { // the pages come first
		c.pages = h
	}
	return h
}

// warm makes sure that what is at a path of the site is cached, for those who know
// the site by the name that its settings say.
func (c *caches) warm(ctx context.Context, path string) error {
	set, err := c.objects.Settings(ctx)
	if err != nil {
		return err
	}
	base, err := url.Parse(set.BaseURL)
	if err != nil {
		return errors.New("the setting base_url is no URL")
	}
	_, err = c.pages.Warm(ctx, "http://"+base.Host+path, nil)
	return err
}

// warmUp asks for what most visitors will, and tells how far it has come.
func (s *site) warmUp(ctx context.Context, log *slog.Logger) {
	if s.changes == nil {
		return
	}
	begun := time.Now()
	paths, err := changes.Front(ctx, s.reader)
	if err == nil {
		err = s.changes.WarmUp(ctx, paths, func(done, total int, _ error) {
			if done%20 == 0 || done == total {
				log.InfoContext(ctx, "warming up", "done", done, "of", total)
			}
		})
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.WarnContext(ctx, "warming up failed", "err", err)
	default:
		log.InfoContext(ctx, "warm", "paths", len(paths), "took", time.Since(begun).Round(time.Millisecond))
	}
}

// shown returns what an operator may look at; nil if nothing is cached.
func (c *caches) shown(s *store.Store) *ops.Caches {
	if c.objects == nil {
		return nil
	}
	present, absent := c.objects.Tiers()
	return &ops.Caches{
		Objects: c.objects, Responses: c.responses, Changes: c.changes,
		Layers: []ops.Layer{
			{Name: "responses", Tiers: c.tiers, Index: c.index, Pages: c.responses},
			{Name: "objects", Tiers: present, Index: c.objects.Index()},
			{Name: "absences", Tiers: absent},
		},
		Invalidate: operator{c, s}.invalidate,
	}
}

// Close ends the caches: what is under way is waited for until ctx ends.
func (c *caches) Close(ctx context.Context) error {
	var errs []error
	if c.changes != nil {
		errs = append(errs, c.changes.Close(ctx))
	}
	if c.responses != nil {
		errs = append(errs, c.responses.Close(ctx))
	}
	if c.tiers != nil {
		errs = append(errs, c.tiers.Close(ctx))
	}
	if c.objects != nil {
		errs = append(errs, c.objects.Close(ctx))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("caches: %w", err)
	}
	return nil
}

// parameters returns the query parameters that matter for a path. All others are
// dropped, so that nobody can make up many URLs of one page.
func parameters(path string) []string {
	switch path {
	case "/api/v1/posts":
		return []string{"lang", "month", "page", "tag"}
	case "/api/v1/tags", "/api/v1/months":
		return []string{"lang"}
	}
	for _, lang := range content.Langs {
		if path == lang.Path("/") || strings.HasPrefix(path, lang.Path("/tags/")) || strings.HasPrefix(path, lang.Path("/months/")) {
			return []string{"page"}
		}
	}
	return nil
}

// format names what kind of response is at a path.
func format(path string, _ http.Header) string {
	switch {
	case strings.HasPrefix(path, "/api/"):
		return "json"
	case strings.HasSuffix(path, "/rss.xml"):
		return "rss"
	case strings.HasSuffix(path, "/atom.xml"):
		return "atom"
	case path == "/sitemap.xml":
		return "sitemap"
	case path == "/robots.txt", strings.HasPrefix(path, "/static/"):
		return "other"
	}
	return "html"
}
