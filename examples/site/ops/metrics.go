package ops

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics returns the handler of /metrics: what the caches and the pipeline show of
// themselves, the responses by format, the indexes, the database, and the process itself.
func (h *Handler) metrics() (http.Handler, error) {
	all := []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	}
	if h.cfg.Queries != nil {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "site_database_queries_total", Help: "Queries that the database has answered.",
		}, func() float64 { return float64(h.cfg.Queries()) }))
	}
	if c := h.cfg.Caches; c != nil {
		all = append(all, &responses{c})
	}
	registry := prometheus.NewRegistry()
	var errs []error
	for _, c := range all {
		errs = append(errs, registry.Register(c))
	}
	shown := prometheus.Gatherers{registry}
	if h.cfg.Metrics != nil {
		shown = append(shown, h.cfg.Metrics)
	}
	return promhttp.HandlerFor(shown, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(h.cfg.Logger.Handler(), slog.LevelError),
	}), errors.Join(errs...)
}

// responses collects what the tiers do not know of responses.
type responses struct{ c *Caches }

var (
	requestsDesc = prometheus.NewDesc("site_response_requests_total",
		"Requests that the cache of responses may answer, by what came of them.", []string{"format", "result"}, nil)
	notModifiedDesc = prometheus.NewDesc("site_response_not_modified_total", "Requests of these that were answered 304.", []string{"format"}, nil)
	storedDesc      = prometheus.NewDesc("site_response_stored_total", "Responses that were handed to the cache for keeping.", []string{"format"}, nil)
	bytesDesc       = prometheus.NewDesc("site_response_sent_bytes_total", "Bytes of bodies that were sent.", []string{"format"}, nil)
	bypassDesc      = prometheus.NewDesc("site_response_bypass_total", "Requests that went past the cache, by reason.", []string{"reason"}, nil)
	refusedDesc     = prometheus.NewDesc("site_response_refused_total", "Responses that were not stored, by reason.", []string{"reason"}, nil)
	keysDesc        = prometheus.NewDesc("site_index_keys", "Keys in the index of a layer, also of entries that were invalidated and are still in memory.", []string{"layer"}, nil)
	tagsDesc        = prometheus.NewDesc("site_index_tags", "Tags that the keys in the index of a layer depend on.", []string{"layer"}, nil)
	pairsDesc       = prometheus.NewDesc("site_index_pairs", "Pairs of a key and a tag in the index of a layer.", []string{"layer"}, nil)
)

// Describe sends what the metrics are.
func (r *responses) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		requestsDesc, notModifiedDesc, storedDesc, bytesDesc, bypassDesc, refusedDesc, keysDesc, tagsDesc, pairsDesc,
	} {
		to <- d
	}
}

// Collect sends the metrics as they are now.
func (r *responses) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, n int64, labels ...string) {
		m, err := prometheus.NewConstMetric(d, kind, float64(n), labels...)
		if err != nil {
			m = prometheus.NewInvalidMetric(d, err)
		}
		to <- m
	}
	count := func(d *prometheus.Desc, n int64, labels ...string) { send(d, prometheus.CounterValue, n, labels...) }
	s := r.c.Responses.Stats()
	for format, n := range s.Formats {
		count(requestsDesc, n.Hits, format, "hit")
		count(requestsDesc, n.Stale, format, "stale")
		count(requestsDesc, n.Misses, format, "miss")
		count(requestsDesc, n.Coalesced, format, "coalesced")
		count(notModifiedDesc, n.NotModified, format)
		count(storedDesc, n.Stored, format)
		count(bytesDesc, n.Bytes, format)
	}
	for reason, n := range s.Bypass {
		count(bypassDesc, n, reason)
	}
	for reason, n := range s.Refused {
		count(refusedDesc, n, reason)
	}
	for _, l := range r.c.Layers {
		if l.Index == nil {
			continue
		}
		s := l.Index.Stats()
		send(keysDesc, prometheus.GaugeValue, int64(s.Entries), l.Name)
		send(tagsDesc, prometheus.GaugeValue, int64(s.Tags), l.Name)
		send(pairsDesc, prometheus.GaugeValue, int64(s.Pairs), l.Name)
	}
}
