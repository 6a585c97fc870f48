package promcache

import (
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/twofold-go/twofold/invalidate/pipeline"
)

// Pipeline returns a collector of the numbers of a [pipeline.Consumer], which stats
// returns: its method Stats, as a rule. The name is the label pipeline, as with
// [Tiers].
//
// cache_pipeline_consume_duration_seconds and cache_pipeline_warm_duration_seconds
// are summaries without quantiles. Their sums may have a little that their counts
// have not: the rounds of Close, and runs of warm-ups that were of no more use.
func Pipeline(name string, stats func() pipeline.Stats) prometheus.Collector {
	constant := named("pipeline", name)
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, constant)
	}
	return &consumer{
		stats:    stats,
		families: describe(pipelineFamilies, nil, constant),
		failures: desc("cache_pipeline_stage_error_total", "Calls of a stage that failed.", "stage"),
		consumed: desc("cache_pipeline_consume_duration_seconds", "Time of one round: a plan through the stages."),
		warmed:   desc("cache_pipeline_warm_duration_seconds", "Time of one run of a warm-up."),
	}
}

type consumer struct {
	stats                      func() pipeline.Stats
	families                   []described[pipeline.Stats]
	failures, consumed, warmed *prometheus.Desc
}

// Describe sends what the metrics are.
func (c *consumer) Describe(to chan<- *prometheus.Desc) {
	for i := range c.families {
		to <- c.families[i].desc
	}
	to <- c.failures
	to <- c.consumed
	to <- c.warmed
}

// Collect sends the metrics as they are now.
func (c *consumer) Collect(to chan<- prometheus.Metric) {
	s := c.stats()
	for i := range c.families {
		c.families[i].collect(to, &s)
	}
	for _, stage := range slices.Sorted(maps.Keys(s.StageFailures)) {
		to <- constant(c.failures, counter, float64(s.StageFailures[stage]), stage)
	}
	summary := func(desc *prometheus.Desc, n int64, total time.Duration) {
		to <- prometheus.MustNewConstSummary(desc, uint64(max(n, 0)), total.Seconds(), nil) //nolint:gosec // not negative
	}
	summary(c.consumed, s.WriteConsumes+s.AutoConsumes, s.ConsumeTime)
	summary(c.warmed, s.Warmed+s.Restarted+s.FailedWarms, s.WarmTime)
}

var pipelineFamilies = []family[pipeline.Stats]{
	{
		"cache_pipeline_event_total", "Events by what became of them.", counter, "outcome", []string{"published", "duplicate", "drained"},
		func(s *pipeline.Stats) []float64 {
			return floats(s.Queue.Published, s.Queue.Duplicates, s.Queue.Drained)
		},
	},
	{
		"cache_pipeline_overflow_total", "Times that the queue became an invalidation of everything.",
		counter, "", nil, one(func(s *pipeline.Stats) int64 { return s.Queue.Overflows }),
	},
	{
		"cache_pipeline_flush_total", "Invalidations of everything that were asked for.",
		counter, "", nil, one(func(s *pipeline.Stats) int64 { return s.Queue.Flushes }),
	},
	{
		"cache_pipeline_plan_total", "Plans that all stages have applied.",
		counter, "", nil, one(func(s *pipeline.Stats) int64 { return s.Plans }),
	},
	{
		"cache_pipeline_action_total", "Entities and warm-ups of plans.",
		counter, "", nil, one(func(s *pipeline.Stats) int64 { return s.Planned }),
	},
	{
		"cache_pipeline_consume_total", "Rounds by who led them.", counter, "trigger", []string{"write", "run"},
		func(s *pipeline.Stats) []float64 { return floats(s.WriteConsumes, s.AutoConsumes) },
	},
	{
		"cache_pipeline_consume_error_total", "Rounds that ended with an error; their events are kept.",
		counter, "", nil, one(func(s *pipeline.Stats) int64 { return s.FailedRounds }),
	},
	{
		"cache_pipeline_auto_total", "Windows of the automatic run.", counter, "outcome", []string{"hit", "idle"},
		func(s *pipeline.Stats) []float64 { return floats(s.AutoHits, max(s.AutoRuns-s.AutoHits, 0)) },
	},
	{
		"cache_pipeline_panic_total", "Panics of stages and warm-ups.",
		counter, "", nil, one(func(s *pipeline.Stats) int64 { return s.Panics }),
	},
	{
		"cache_pipeline_warm_total", "Warm-ups by what became of them.", counter, "outcome",
		[]string{"warmed", "skipped", "restarted", "failed", "refused", "lost"},
		func(s *pipeline.Stats) []float64 {
			return floats(s.Warmed, s.Skipped, s.Restarted, s.FailedWarms, s.RefusedWarms, s.Queue.LostWarms)
		},
	},
	{"cache_pipeline_queue", "Events that wait.", gauge, "", nil, one(func(s *pipeline.Stats) int { return s.Queue.Len })},
	{
		"cache_pipeline_lag", "Epochs published and not yet applied.", gauge, "", nil,
		one(func(s *pipeline.Stats) uint64 { return s.Queue.Last - min(s.Applied, s.Queue.Last) }),
	},
	{
		"cache_pipeline_warm_queue", "Warm-ups that wait or run.",
		gauge, "", nil, one(func(s *pipeline.Stats) int { return s.Waiting + s.Warming }),
	},
}
