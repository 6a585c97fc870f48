package app

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
)

// scrapeTime is how long the database may take for one scrape.
const scrapeTime = 5 * time.Second

// metersOf returns a provider whose instruments a registry shows: cache.hit, for example,
// as cache_hit_total.
func metersOf(r prometheus.Registerer) (metric.MeterProvider, error) {
	e, err := exporter.New(exporter.WithRegisterer(r), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	return sdk.NewMeterProvider(sdk.WithReader(e)), nil
}

// showMetrics returns the handler of /metrics. Nothing in it names a source, a user or a
// digest.
func (a *App) showMetrics() (http.Handler, error) {
	var errs []error
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		numbers{a},
	} {
		errs = append(errs, a.metrics.Register(c))
	}
	return promhttp.HandlerFor(a.metrics, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(a.cfg.Log.Handler(), slog.LevelError),
	}), errors.Join(errs...)
}

// numbers collects what the tiers do not know: what digests cost and saved, and how the
// collector keeps up. What is in the database is the sum of all processes.
type numbers struct{ a *App }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("digest_"+name, help, labels, nil)
}

var (
	eventsDesc = describe("events_total",
		"Events of all processes: requests, hits, merged, misses, llm_calls, tokens and so on, by type of digest.", "event", "type")
	cachedDesc  = describe("cache_rows", "Digests in the cache, by type.", "type")
	combosDesc  = describe("cache_combinations", "Combinations of sources that have a digest in the cache.")
	sourcesDesc = describe("sources", "Sources, by state.", "state")
	lagDesc     = describe("collector_oldest_due_seconds", "How long the source that has waited longest has been due.")
	fetchesDesc = describe("fetches_total", "Fetches of sources by this process, by outcome.", "outcome")
	itemsDesc   = describe("items_total", "Items that this process stored.", "kind")
	wireDesc    = describe("http_requests_total", "HTTP requests of this process, robots.txt and redirects included.")
	bytesDesc   = describe("http_received_bytes_total", "Bytes of bodies that this process received, before decompression.")
)

// Describe sends what the metrics are.
func (numbers) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		eventsDesc, cachedDesc, combosDesc, sourcesDesc, lagDesc, fetchesDesc, itemsDesc, wireDesc, bytesDesc,
	} {
		to <- d
	}
}

// Collect sends the metrics as they are now.
func (n numbers) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTime)
	defer cancel()
	n.process(to)
	n.digests(ctx, to)
	n.sources(ctx, to)
}

// process sends what this process has counted.
func (n numbers) process(to chan<- prometheus.Metric) {
	c, f := n.a.Collector.Counts(), n.a.Fetch.Stats()
	for outcome, v := range map[string]int64{
		"changed": c.Succeeded - c.NotModified, "not_modified": c.NotModified, "failed": c.Failed,
		"returned": c.Returned, "lost": c.Lost, "unstored": c.Unstored,
	} {
		send(to, fetchesDesc, prometheus.CounterValue, v, outcome)
	}
	send(to, itemsDesc, prometheus.CounterValue, c.New, "new")
	send(to, itemsDesc, prometheus.CounterValue, c.Updated, "updated")
	send(to, wireDesc, prometheus.CounterValue, f.Requests)
	send(to, bytesDesc, prometheus.CounterValue, f.Wire)
}

func (n numbers) digests(ctx context.Context, to chan<- prometheus.Metric) {
	s, err := n.a.Digests.Stats(ctx, time.Time{})
	if err != nil {
		to <- prometheus.NewInvalidMetric(eventsDesc, err)
		return
	}
	for kind, events := range s.CountsByKind {
		for event, v := range events {
			send(to, eventsDesc, prometheus.CounterValue, v, event, kind)
		}
	}
	for kind, v := range s.ByType {
		send(to, cachedDesc, prometheus.GaugeValue, v, kind)
	}
	send(to, combosDesc, prometheus.GaugeValue, s.UniqueHashes)
}

func (n numbers) sources(ctx context.Context, to chan<- prometheus.Metric) {
	st, err := n.a.Collector.Status(ctx)
	health, err2 := n.a.Collector.Health(ctx)
	if err := errors.Join(err, err2); err != nil {
		to <- prometheus.NewInvalidMetric(sourcesDesc, err)
		return
	}
	states := map[string]int64{}
	for _, s := range st.Sources {
		states[s.Status]++
	}
	for state, v := range states {
		send(to, sourcesDesc, prometheus.GaugeValue, v, state)
	}
	to <- prometheus.MustNewConstMetric(lagDesc, prometheus.GaugeValue, health.OldestDueLagSeconds)
}

func send(to chan<- prometheus.Metric, d *prometheus.Desc, kind prometheus.ValueType, v int64, labels ...string) {
	m, err := prometheus.NewConstMetric(d, kind, float64(v), labels...)
	if err != nil {
		m = prometheus.NewInvalidMetric(d, err)
	}
	to <- m
}
