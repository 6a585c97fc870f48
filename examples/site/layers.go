package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"

	"github.com/twofold-go/twofold/cache"
	"github.com/twofold-go/twofold/invalidate"
)

// second is the log of a layer that is built from the layer below. It returns a record
// after that layer has applied it. Otherwise a response could be built from an object that
// is about to be invalidated, and stay stale.
type second struct {
	invalidate.Log
	below func(context.Context) error // returns when the layer below has applied the log
}

// Sync implements [invalidate.Log].
func (l second) Sync(ctx context.Context, at invalidate.Cursor, a invalidate.Append) (invalidate.Page, error) {
	p, err := l.Log.Sync(ctx, at, a)
	return p, l.wait(ctx, p, err)
}

// Tail implements [invalidate.Log].
func (l second) Tail(ctx context.Context, at invalidate.Cursor) (invalidate.Page, error) {
	p, err := l.Log.Tail(ctx, at)
	return p, l.wait(ctx, p, err)
}

func (l second) wait(ctx context.Context, p invalidate.Page, err error) error {
	if err == nil && len(p.Keys)+len(p.Scopes) > 0 && l.below != nil {
		err = l.below(ctx)
	}
	return err
}

func format(at string) string {
	switch {
	case strings.HasPrefix(at, "/api/"):
		return "json"
	case path.Ext(at) == ".xml": // rss, sitemap
		return strings.TrimSuffix(path.Base(at), ".xml")
	case at == "/robots.txt", strings.HasPrefix(at, "/static/"):
		return "other"
	}
	return "html"
}

// formatOf returns the format of a cached response, whose key ends in HOST/PATH?QUERY.
func formatOf(e cache.Entry) string {
	_, at, _ := strings.Cut(e.Key(), "//")
	_, at, _ = strings.Cut(at, "/")
	at, _, _ = strings.Cut(at, "?")
	return format("/" + at)
}

// meters returns a layer's instruments. The registry has cache.hit as
// cache_hit_total{tiers="LAYER"}.
func (c *caches) meters(layer string) (metric.MeterProvider, error) {
	r := prometheus.WrapRegistererWith(prometheus.Labels{"tiers": layer}, c.metrics)
	e, err := exporter.New(exporter.WithRegisterer(r), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics of %q: %w", layer, err)
	}
	return sdk.NewMeterProvider(sdk.WithReader(e)), nil
}

// parameters returns the query parameters that matter at a path. The others are dropped, because
// they would multiply the entries.
func parameters(at string) []string {
	if at == "/api/v1/posts" {
		return []string{"month", "page", "tag"}
	}
	if at == "/" || strings.HasPrefix(at, "/tags/") || strings.HasPrefix(at, "/months/") {
		return []string{"page"}
	}
	return nil
}
