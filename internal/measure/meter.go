package measure

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// Meter makes the instruments of one package. Make one with [NewMeter]. It is for one
// goroutine; the instruments may be used concurrently.
type Meter struct {
	meter metric.Meter
	errs  []error
	read  []metric.Observable
}

// NewMeter returns a meter of a provider. A nil mp means the global provider.
func NewMeter(mp metric.MeterProvider, scope string) *Meter {
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	return &Meter{meter: mp.Meter(scope)}
}

// Err returns the errors of making instruments, or nil.
func (m *Meter) Err() error { return errors.Join(m.errs...) }

// Seconds makes a histogram of times. Its bounds are 0.2 ms to 10 s, and the given ones below
// these.
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
	Name, Unit, Desc string // the unit as in UCUM
	Gauge            bool

	Attr   string          // distinguishes the numbers; empty if there is one number
	Values []string        // of Attr, one for each number
	Get    func(S) []int64 // the numbers; if fewer than Values, the rest is left out

	Age func(S) time.Duration // instead of Get: a gauge in seconds; negative ages show as -1
}

// Age returns a gauge of an age in seconds. A negative age, which may mean "never", shows as -1.
func Age[S any](name, desc string, get func(S) time.Duration) Family[S] {
	return Family[S]{Name: name, Unit: "s", Desc: desc, Gauge: true, Age: get}
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

// Add makes the instruments of families. It returns a function that observes a snapshot; all
// numbers get the attributes of base. Call that function in the callback of [Meter.Register].
func Add[S any](m *Meter, families []Family[S]) func(ob metric.Observer, s S, base ...attribute.KeyValue) {
	made := make([]func(metric.Observer, S, []attribute.KeyValue), len(families))
	for i, f := range families {
		if f.Age != nil {
			made[i] = f.age(m)
		} else {
			made[i] = f.numbers(m)
		}
	}
	return func(ob metric.Observer, s S, base ...attribute.KeyValue) {
		for _, observe := range made {
			observe(ob, s, base)
		}
	}
}

func (f Family[S]) age(m *Meter) func(metric.Observer, S, []attribute.KeyValue) {
	made, err := m.meter.Float64ObservableGauge(f.Name, metric.WithUnit(f.Unit), metric.WithDescription(f.Desc))
	m.errs, m.read = append(m.errs, err), append(m.read, made)
	return func(ob metric.Observer, s S, base []attribute.KeyValue) {
		seconds := -1.0
		if age := f.Age(s); age >= 0 {
			seconds = age.Seconds()
		}
		ob.ObserveFloat64(made, seconds, metric.WithAttributes(base...))
	}
}

func (f Family[S]) numbers(m *Meter) func(metric.Observer, S, []attribute.KeyValue) {
	var made metric.Int64Observable
	var err error
	unit, desc := metric.WithUnit(f.Unit), metric.WithDescription(f.Desc)
	if f.Gauge {
		made, err = m.meter.Int64ObservableGauge(f.Name, unit, desc)
	} else {
		made, err = m.meter.Int64ObservableCounter(f.Name, unit, desc)
	}
	m.errs, m.read = append(m.errs, err), append(m.read, made)
	return func(ob metric.Observer, s S, base []attribute.KeyValue) {
		for j, n := range f.Get(s) {
			attrs := base
			if f.Attr != "" {
				attrs = append(slices.Clip(base), attribute.String(f.Attr, f.Values[j]))
			}
			ob.ObserveInt64(made, n, metric.WithAttributes(attrs...))
		}
	}
}

// Register registers the callback that reads the added instruments. It may run before Register
// returns. Unregister the result to end it.
func (m *Meter) Register(read func(metric.Observer)) (metric.Registration, error) {
	if err := m.Err(); err != nil {
		return nil, err
	}
	return m.meter.RegisterCallback(func(_ context.Context, ob metric.Observer) error {
		read(ob)
		return nil
	}, m.read...)
}

// Attr returns an attribute of measurements. Make it once: making it costs more than recording with
// it.
func Attr(key, value string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String(key, value))
}
