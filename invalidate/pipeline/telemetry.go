package pipeline

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/twofold-go/twofold/internal/meter"
)

const scopeName = "github.com/twofold-go/twofold/invalidate/pipeline"

// telemetry holds the instruments. Counts are kept by the consumer and its queue
// and read by a callback; histograms are recorded once a round or a warm-up.
type telemetry struct {
	reg metric.Registration

	consumeTime, warmTime metric.Float64Histogram
	drainSize             metric.Int64Histogram
}

var triggerAttrs = [...]metric.MeasurementOption{
	ByWrite: meter.Attr("trigger", ByWrite.String()),
	ByRun:   meter.Attr("trigger", ByRun.String()),
	ByClose: meter.Attr("trigger", ByClose.String()),
}

func newTelemetry(c *Consumer) (*telemetry, error) {
	m := meter.New(c.cfg.MeterProvider, scopeName)
	o := &telemetry{
		consumeTime: m.Seconds("cache.pipeline.consume.duration", "Time of one round: a plan through the stages."),
		warmTime:    m.Seconds("cache.pipeline.warm.duration", "Time of one run of a warm-up."),
		drainSize: m.Sizes("cache.pipeline.drain.size", "{event}", "Events of one plan.",
			0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000),
	}
	observe := meter.Add(m, append(stageFamilies(c.cfg.Stages), families...))
	var err error
	o.reg, err = m.Register(func(ob metric.Observer) {
		s := c.Stats()
		observe(ob, &s)
	})
	return o, err
}

func (o *telemetry) consumed(by Trigger, took time.Duration) {
	o.consumeTime.Record(context.Background(), took.Seconds(), triggerAttrs[by])
}

func (o *telemetry) drained(events int) { o.drainSize.Record(context.Background(), int64(events)) }

func (o *telemetry) warmed(outcome string, took time.Duration) {
	o.warmTime.Record(context.Background(), took.Seconds(), meter.Attr("outcome", outcome))
}

func (o *telemetry) close() error { return o.reg.Unregister() }

type family = meter.Family[*Stats]

var families = []family{
	{
		Name: "cache.pipeline.event", Unit: "{event}", Desc: "Events by what became of them.",
		Attr: "outcome", Values: []string{"published", "duplicate", "drained"},
		Get: func(s *Stats) []int64 { return []int64{s.Queue.Published, s.Queue.Duplicates, s.Queue.Drained} },
	},
	meter.One("cache.pipeline.overflow", "{overflow}", "Times that the queue became an invalidation of everything.", func(s *Stats) int64 { return s.Queue.Overflows }),
	meter.One("cache.pipeline.flush", "{flush}", "Invalidations of everything that were asked for.", func(s *Stats) int64 { return s.Queue.Flushes }),
	meter.One("cache.pipeline.plan", "{plan}", "Plans that all stages have applied.", func(s *Stats) int64 { return s.Plans }),
	meter.One("cache.pipeline.action", "{action}", "Entities and warm-ups of plans.", func(s *Stats) int64 { return s.Planned }),
	{
		Name: "cache.pipeline.consume", Unit: "{round}", Desc: "Rounds by who led them.",
		Attr: "trigger", Values: []string{"write", "run"},
		Get: func(s *Stats) []int64 { return []int64{s.WriteConsumes, s.AutoConsumes} },
	},
	meter.One("cache.pipeline.consume.error", "{round}", "Rounds that ended with an error; their events are kept.",
		func(s *Stats) int64 { return s.FailedRounds }),
	{
		Name: "cache.pipeline.auto", Unit: "{window}", Desc: "Windows of the automatic run.",
		Attr: "outcome", Values: []string{"hit", "idle"},
		Get: func(s *Stats) []int64 { return []int64{s.AutoHits, max(s.AutoRuns-s.AutoHits, 0)} },
	},
	meter.One("cache.pipeline.panic", "{panic}", "Panics of stages and warm-ups.", func(s *Stats) int64 { return s.Panics }),
	{
		Name: "cache.pipeline.warm", Unit: "{warmup}", Desc: "Warm-ups by what became of them.",
		Attr: "outcome", Values: []string{"warmed", "skipped", "restarted", "failed", "refused", "lost"},
		Get: func(s *Stats) []int64 {
			return []int64{s.Warmed, s.Skipped, s.Restarted, s.FailedWarms, s.RefusedWarms, s.Queue.LostWarms}
		},
	},
	meter.Level("cache.pipeline.queue", "{event}", "Events that wait.", func(s *Stats) int64 { return int64(s.Queue.Len) }),
	meter.Level("cache.pipeline.lag", "{event}", "Epochs published and not yet applied.", func(s *Stats) int64 { return int64(s.Queue.Last - min(s.Applied, s.Queue.Last)) }),
	meter.Level("cache.pipeline.warm.queue", "{warmup}", "Warm-ups that wait or run.", func(s *Stats) int64 { return int64(s.Waiting + s.Warming) }),
}

// stageFamilies are those whose values are the names of the stages.
func stageFamilies(stages []Stage) []family {
	failed := family{Name: "cache.pipeline.stage.error", Unit: "{call}", Desc: "Calls of a stage that failed.", Attr: "stage"}
	for _, s := range stages {
		failed.Values = append(failed.Values, s.Name)
	}
	failed.Get = func(s *Stats) (n []int64) {
		for _, name := range failed.Values {
			n = append(n, s.StageFailures[name])
		}
		return n
	}
	return []family{failed}
}
