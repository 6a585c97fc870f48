package pipeline_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// measured returns every data point that is not zero, by "name{attributes}":
// sums and gauges by value, histograms by count.
func measured(t *testing.T, reader *metric.ManualReader) map[string]int64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	out := map[string]int64{}
	add := func(name string, set attribute.Set, n int64) {
		if n != 0 {
			out[name+"{"+set.Encoded(attribute.DefaultEncoder())+"}"] = n
		}
	}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[int64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, int64(p.Count))
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					add(m.Name, p.Attributes, int64(p.Count))
				}
			default:
				t.Errorf("%s is a %T", m.Name, d)
			}
		}
	}
	return out
}

func TestInstruments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := metric.NewManualReader()
		r := newRig(t, pipeline.QueueConfig{MaxEvents: 3}, pipeline.Config{
			Window: time.Second, MeterProvider: metric.NewMeterProvider(metric.WithReader(reader)),
		})
		first := warming(event("a", "a", "b"), "1", "2")
		apply(t, r, first)
		apply(t, r, first)
		r.respond.set(errDown)
		if err := r.Apply(t.Context(), event("c", "c")); !errors.Is(err, errDown) {
			t.Errorf("Apply = %v", err)
		}
		r.respond.set(nil)
		for range 5 {
			publish(t, r.queue, warming(event("x", "x"), "3"))
		}
		r.queue.PublishAll()
		go r.Run(t.Context())
		advance(2500 * time.Millisecond)
		publish(t, r.queue, event("y", "y"))
		want := map[string]int64{
			"cache.pipeline.event{outcome=published}":        8,
			"cache.pipeline.event{outcome=duplicate}":        1,
			"cache.pipeline.event{outcome=drained}":          3,
			"cache.pipeline.overflow{}":                      1,
			"cache.pipeline.flush{}":                         1,
			"cache.pipeline.plan{}":                          3,
			"cache.pipeline.action{}":                        7,
			"cache.pipeline.consume{trigger=write}":          2,
			"cache.pipeline.consume{trigger=run}":            2,
			"cache.pipeline.consume.error{}":                 1,
			"cache.pipeline.auto{outcome=hit}":               1,
			"cache.pipeline.auto{outcome=idle}":              1,
			"cache.pipeline.stage.error{stage=responses}":    1,
			"cache.pipeline.queue{}":                         1,
			"cache.pipeline.lag{}":                           1,
			"cache.pipeline.warm{outcome=warmed}":            3,
			"cache.pipeline.warm{outcome=lost}":              4,
			"cache.pipeline.consume.duration{trigger=write}": 2,
			"cache.pipeline.consume.duration{trigger=run}":   2,
			"cache.pipeline.warm.duration{outcome=warmed}":   3,
			"cache.pipeline.drain.size{}":                    3,
		}
		if diff := cmp.Diff(want, measured(t, reader)); diff != "" {
			t.Errorf("instruments (-want +got):\n%s", diff)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
