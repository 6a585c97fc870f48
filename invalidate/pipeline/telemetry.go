package pipeline

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const scopeName = "github.com/twofold-go/twofold/invalidate/pipeline"

// telemetry holds the instruments. Counts are kept by the consumer and its queue
// and read by a callback; histograms are recorded once a round or a warm-up.
type telemetry struct {
	c   *Consumer
	reg metric.Registration

	consumeTime, warmTime metric.Float64Histogram
	drainSize             metric.Int64Histogram
}

// Attribute sets are made once: making one costs more than recording with it.
var (
	triggerAttrs = [...]metric.MeasurementOption{
		ByWrite: attr("trigger", ByWrite.String()),
		ByRun:   attr("trigger", ByRun.String()),
		ByClose: attr("trigger", ByClose.String()),
	}
	seconds = metric.WithExplicitBucketBoundaries(
		.0002, .0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10)
)

func attr(k, v string) metric.MeasurementOption { return metric.WithAttributes(attribute.String(k, v)) }

func newTelemetry(c *Consumer) (*telemetry, error) {
	mp := c.cfg.MeterProvider
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	m := mp.Meter(scopeName)
	o := &telemetry{c: c}
	var errs [4]error
	o.consumeTime, errs[0] = m.Float64Histogram("cache.pipeline.consume.duration", metric.WithUnit("s"), seconds,
		metric.WithDescription("Time of one round: a plan through the stages."))
	o.warmTime, errs[1] = m.Float64Histogram("cache.pipeline.warm.duration", metric.WithUnit("s"), seconds,
		metric.WithDescription("Time of one run of a warm-up."))
	o.drainSize, errs[2] = m.Int64Histogram("cache.pipeline.drain.size", metric.WithUnit("{event}"),
		metric.WithExplicitBucketBoundaries(0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000),
		metric.WithDescription("Events of one plan."))
	o.reg, errs[3] = o.observe(m)
	return o, errors.Join(errs[:]...)
}

func (o *telemetry) consumed(by Trigger, took time.Duration) {
	o.consumeTime.Record(context.Background(), took.Seconds(), triggerAttrs[by])
}

func (o *telemetry) drained(events int) { o.drainSize.Record(context.Background(), int64(events)) }

func (o *telemetry) warmed(outcome string, took time.Duration) {
	o.warmTime.Record(context.Background(), took.Seconds(), attr("outcome", outcome))
}

func (o *telemetry) close() error { return o.reg.Unregister() }

// counter is one instrument and what of the Stats it shows, by the values of
// an attribute.
type counter struct {
	name, desc, attr string
	values           []string
	get              func(*Stats) []int64
}

var observed = []counter{
	{"cache.pipeline.event", "Events by what became of them.", "outcome", []string{"published", "duplicate", "drained"}, func(s *Stats) []int64 {
		return []int64{s.Queue.Published, s.Queue.Duplicates, s.Queue.Drained}
	}},
	{"cache.pipeline.overflow", "Times that the queue became an invalidation of everything.", "", nil, func(s *Stats) []int64 {
		return []int64{s.Queue.Overflows}
	}},
	{"cache.pipeline.flush", "Invalidations of everything that were asked for.", "", nil, func(s *Stats) []int64 {
		return []int64{s.Queue.Flushes}
	}},
	{"cache.pipeline.plan", "Plans that all stages have applied.", "", nil, func(s *Stats) []int64 { return []int64{s.Plans} }},
	{"cache.pipeline.action", "Entities and warm-ups of plans.", "", nil, func(s *Stats) []int64 { return []int64{s.Planned} }},
	{"cache.pipeline.consume", "Rounds by who led them.", "trigger", []string{"write", "run"}, func(s *Stats) []int64 {
		return []int64{s.WriteConsumes, s.AutoConsumes}
	}},
	{"cache.pipeline.auto", "Windows of the automatic run.", "outcome", []string{"hit", "idle"}, func(s *Stats) []int64 {
		return []int64{s.AutoHits, s.AutoRuns - s.AutoHits}
	}},
	{"cache.pipeline.panic", "Panics of stages and warm-ups.", "", nil, func(s *Stats) []int64 { return []int64{s.Panics} }},
	{
		"cache.pipeline.warm", "Warm-ups by what became of them.", "outcome",
		[]string{"warmed", "skipped", "restarted", "failed", "refused", "lost"},
		func(s *Stats) []int64 {
			return []int64{s.Warmed, s.Skipped, s.Restarted, s.FailedWarms, s.RefusedWarms, s.Queue.LostWarms}
		},
	},
}

// observe registers one callback that reads all numbers of one moment.
func (o *telemetry) observe(m metric.Meter) (metric.Registration, error) {
	var errs []error
	var all []metric.Observable
	count := func(name, desc string) metric.Int64ObservableCounter {
		c, err := m.Int64ObservableCounter(name, metric.WithDescription(desc))
		errs, all = append(errs, err), append(all, c)
		return c
	}
	gauge := func(name, unit, desc string) metric.Int64ObservableGauge {
		g, err := m.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(desc))
		errs, all = append(errs, err), append(all, g)
		return g
	}
	counts := make([]metric.Int64ObservableCounter, len(observed))
	for i := range observed {
		counts[i] = count(observed[i].name, observed[i].desc)
	}
	failures := count("cache.pipeline.stage.error", "Calls of a stage that failed.")
	length := gauge("cache.pipeline.queue", "{event}", "Events that wait.")
	lag := gauge("cache.pipeline.lag", "{event}", "Epochs published and not yet applied.")
	waiting := gauge("cache.pipeline.warm.queue", "{warmup}", "Warm-ups that wait or run.")
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return m.RegisterCallback(func(_ context.Context, ob metric.Observer) error {
		s := o.c.Stats()
		for i := range observed {
			observed[i].observe(ob, counts[i], &s)
		}
		for name, n := range s.StageFailures {
			ob.ObserveInt64(failures, n, attr("stage", name))
		}
		ob.ObserveInt64(length, int64(s.Queue.Len))
		ob.ObserveInt64(lag, int64(s.Queue.Last-min(s.Applied, s.Queue.Last)))
		ob.ObserveInt64(waiting, int64(s.Waiting+s.Warming))
		return nil
	}, all...)
}

func (g *counter) observe(ob metric.Observer, to metric.Int64ObservableCounter, s *Stats) {
	for i, n := range g.get(s) {
		if g.attr == "" {
			ob.ObserveInt64(to, n)
			continue
		}
		ob.ObserveInt64(to, n, attr(g.attr, g.values[i]))
	}
}
