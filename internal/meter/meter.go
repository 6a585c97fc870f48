// Package meter makes what a package tells OpenTelemetry: histograms, counters
// and gauges that one callback reads, and spans.
package meter

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Meter makes the instruments of one package. Make one with [New]. It is for one
// goroutine; the instruments may be used concurrently.
type Meter struct {
	meter metric.Meter
	errs  []error
	read  []metric.Observable
}

// New returns a meter of a provider, or of the global one when mp is nil.
func New(mp metric.MeterProvider, scope string) *Meter {
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	return &Meter{meter: mp.Meter(scope)}
}

// Err returns why instruments could not be made; nil when all could.
func (m *Meter) Err() error { return errors.Join(m.errs...) }

// Seconds makes a histogram of times between 0.2 ms and 10 s, and with the bounds that are
// given below these.
func (m *Meter) Seconds(name, desc string, below ...float64) metric.Float64Histogram {
	bounds := append(slices.Clip(below), .0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10)
	h, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(desc),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.errs = append(m.errs, err)
	return h
}

// Sizes makes a histogram of whole numbers.
func (m *Meter) Sizes(name, unit, desc string, bounds ...float64) metric.Int64Histogram {
	h, err := m.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(desc),
		metric.WithExplicitBucketBoundaries(bounds...))
	m.errs = append(m.errs, err)
	return h
}

// Family is an instrument that a callback reads from an S, a snapshot of a
// package's numbers: a counter, or a gauge.
type Family[S any] struct {
	Name, Unit, Desc string // the unit by UCUM
	Gauge            bool

	Attr   string          // tells the numbers apart; empty: there is one
	Values []string        // of Attr, one for each number
	Get    func(S) []int64 // the numbers
}

// Level returns a gauge of a single number.
func Level[S any](name, unit, desc string, get func(S) int64) Family[S] {
	f := One(name, unit, desc, get)
	f.Gauge = true
	return f
}

// One returns a counter of a single number.
func One[S any](name, unit, desc string, get func(S) int64) Family[S] {
	return Family[S]{Name: name, Unit: unit, Desc: desc, Get: func(s S) []int64 { return []int64{get(s)} }}
}

// Add makes the instruments of families, and returns what observes a snapshot
// whose numbers all have the attributes of base. It belongs into the callback of
// [Meter.Register].
func Add[S any](m *Meter, families []Family[S]) func(ob metric.Observer, s S, base ...attribute.KeyValue) {
	made := make([]metric.Int64Observable, len(families))
	for i, f := range families {
		var err error
		unit, desc := metric.WithUnit(f.Unit), metric.WithDescription(f.Desc)
		if f.Gauge {
			made[i], err = m.meter.Int64ObservableGauge(f.Name, unit, desc)
		} else {
			made[i], err = m.meter.Int64ObservableCounter(f.Name, unit, desc)
		}
		m.errs, m.read = append(m.errs, err), append(m.read, made[i])
	}
	return func(ob metric.Observer, s S, base ...attribute.KeyValue) {
		for i, f := range families {
			for j, n := range f.Get(s) {
				attrs := base
				if f.Attr != "" {
					attrs = append(slices.Clip(base), attribute.String(f.Attr, f.Values[j]))
				}
				ob.ObserveInt64(made[i], n, metric.WithAttributes(attrs...))
			}
		}
	}
}

// Register registers the callback that reads what was added. It may run before
// Register returns. Unregister the result to end it.
func (m *Meter) Register(read func(metric.Observer)) (metric.Registration, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	return m.meter.RegisterCallback(func(_ context.Context, ob metric.Observer) error {
		read(ob)
		return nil
	}, m.read...)
}

// Attr returns a measurement's attribute. Make it once: making it costs more than
// recording with it.
func Attr(key, value string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(key, value))
}
