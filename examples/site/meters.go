package main

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// meters returns where a layer makes its instruments. The registry shows cache.hit, for
// example, as cache_hit_total, with the layer in the label tiers. What belongs to no layer
// has an empty name and no label.
func (c *caches) meters(layer string) (metric.MeterProvider, error) {
	var r prometheus.Registerer = c.metrics
	if layer != "" {
		r = prometheus.WrapRegistererWith(prometheus.Labels{"tiers": layer}, r)
	}
	e, err := exporter.New(exporter.WithRegisterer(r), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics of %q: %w", layer, err)
	}
	return sdk.NewMeterProvider(sdk.WithReader(e)), nil
}
