// Package promcache shows the numbers of caches to Prometheus, for programs that
// do without OpenTelemetry.
//
// A collector reads a snapshot, such as [cache.Tiers.Stats], at each scrape, so
// that counting costs what it costs anyway. The names and labels are those that
// the library's OpenTelemetry instruments get from a Prometheus exporter:
// cache.hit{tier} is cache_hit_total{tier}, with cache_namespace and cache_tenant
// where a number belongs to a namespace. A dashboard for one serves the other, but
// for what a snapshot does not have: of the durations of a pipeline there are sum
// and count and no buckets; of those of loads and remote calls, of sizes and of ages
// of stale values there is nothing. The lease's age is in seconds here, as
// Prometheus wants it. A few metrics are here only, such as the breaker's state.
package promcache

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// family is a metric with what of a snapshot of type S it shows.
type family[S any] struct {
	name, help string
	kind       prometheus.ValueType
	label      string   // by which the values differ; "": there is one value
	values     []string // of the label
	get        func(*S) []float64
}

// one is the get of a family with one value.
func one[S any, N int | int64 | uint64](get func(*S) N) func(*S) []float64 {
	return func(s *S) []float64 { return []float64{float64(get(s))} }
}

// described is a family with its description.
type described[S any] struct {
	family[S]
	desc *prometheus.Desc
}

// describe adds descriptions. All metrics have the constant labels, and those of
// common before the family's own.
func describe[S any](families []family[S], common []string, constant prometheus.Labels) []described[S] {
	all := make([]described[S], len(families))
	for i, f := range families {
		labels := slices.Clone(common)
		if f.label != "" {
			labels = append(labels, f.label)
		}
		all[i] = described[S]{f, prometheus.NewDesc(f.name, f.help, labels, constant)}
	}
	return all
}

// collect sends the values of a snapshot, with the values of the common labels.
func (d *described[S]) collect(to chan<- prometheus.Metric, s *S, common ...string) {
	for i, v := range d.get(s) {
		labels := slices.Clone(common)
		if d.label != "" {
			labels = append(labels, d.values[i])
		}
		to <- constant(d.desc, d.kind, v, labels...)
	}
}

// constant returns a metric of the moment. What cannot be one, such as a label that
// is not UTF-8, is reported by the scrape instead of ending the program.
func constant(desc *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) prometheus.Metric {
	m, err := prometheus.NewConstMetric(desc, kind, v, labels...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

// named returns the constant label that tells collectors of a kind apart; none for
// the empty name.
func named(label, name string) prometheus.Labels {
	if name == "" {
		return nil
	}
	return prometheus.Labels{label: name}
}
