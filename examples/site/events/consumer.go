package events

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// Config configures a Consumer. All fields are required, except where nil has a meaning.
type Config struct {
	// Objects and Responses wait until their layer has applied all committed invalidations.
	// Nil means that there is no such layer.
	Objects, Responses func(ctx context.Context) error
	Warm               func(paths ...string) // starts warm-ups, and does not wait for them
	Batch              int                   // the most events of one plan
	Max                int                   // the most events that wait
	After              time.Duration         // between the automatic consumptions
	Within             time.Duration         // the most time for a consumption
	Log                *slog.Logger
	Metrics            prometheus.Registerer
}

// Consumer consumes events after their commit: objects, then responses, then warm-ups. The commit
// has invalidated already. If the queue overflows or is lost with the process, a page is cold, but
// never stale. All methods may be called concurrently.
type Consumer struct {
	cfg  Config
	busy chan struct{} // holds an element while batches are consumed

	mu    sync.Mutex // protects queue
	queue []Event    // oldest first

	drained, consumed                              prometheus.Histogram
	actions                                        *prometheus.CounterVec
	failures, dropped, byWrites, autoRuns, autoHit prometheus.Counter
}

// New returns a Consumer.
func New(cfg Config) *Consumer {
	c := &Consumer{cfg: cfg, busy: make(chan struct{}, 1)}
	f := promauto.With(prometheus.WrapRegistererWithPrefix("site_event_", cfg.Metrics))
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "queue_len", Help: "Events that wait."}, func() float64 { return float64(c.waiting()) })
	c.drained = f.NewHistogram(prometheus.HistogramOpts{Name: "drain_size", Help: "Events of a batch.", Buckets: prometheus.ExponentialBuckets(1, 4, 6)})
	c.consumed = f.NewHistogram(prometheus.HistogramOpts{Name: "consume_seconds", Help: "Time of a batch, without its warm-ups."})
	c.actions = f.NewCounterVec(prometheus.CounterOpts{Name: "plan_actions_total", Help: "Invalidated scopes and warm-ups of all plans."}, []string{"layer"})
	c.failures = f.NewCounter(prometheus.CounterOpts{Name: "failures_total", Help: "Batches that failed, and wait again."})
	c.dropped = f.NewCounter(prometheus.CounterOpts{Name: "dropped_total", Help: "Events without room. No page is stale because of them."})
	c.byWrites = f.NewCounter(prometheus.CounterOpts{Name: "write_triggered_consumes_total", Help: "Consumptions by a write."})
	c.autoRuns = f.NewCounter(prometheus.CounterOpts{Name: "auto_consume_runs_total", Help: "Automatic consumptions."})
	c.autoHit = f.NewCounter(prometheus.CounterOpts{Name: "auto_consume_hits_total", Help: "Automatic consumptions that found an event."})
	return c
}

// Publish adds events of a committed write, and consumes the queue up to them. If it fails, they
// wait for the next consumption.
func (c *Consumer) Publish(ctx context.Context, all ...Event) error {
	c.put(all)
	c.byWrites.Inc()
	_, err := c.consume(ctx)
	return err
}

func (c *Consumer) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.queue)
}

// put adds the events that are not in the queue yet.
func (c *Consumer) put(all []Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := map[string]bool{}
	c.queue = slices.DeleteFunc(append(c.queue, all...), func(e Event) bool {
		again := known[e.Key()]
		known[e.Key()] = true
		return again
	})
	if n := len(c.queue); n > c.cfg.Max {
		c.dropped.Add(float64(n))
		c.queue = []Event{{Kind: QueueOverflowed}}
	}
}

// consume consumes the events that wait when it begins, in batches, and returns their number.
func (c *Consumer) consume(ctx context.Context) (n int, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Within)
	defer cancel()
	select {
	case c.busy <- struct{}{}:
		defer func() { <-c.busy }()
	case <-ctx.Done():
		c.failures.Inc()
		return 0, context.Cause(ctx)
	}
	n = c.waiting()
	for left := n; left > 0 && err == nil; left -= c.cfg.Batch {
		err = c.batch(ctx)
	}
	return n, err
}

// batch consumes one batch: objects before responses, which are built from them.
func (c *Consumer) batch(ctx context.Context) (err error) {
	c.mu.Lock()
	n := min(len(c.queue), c.cfg.Batch)
	events := slices.Clone(c.queue[:n])
	c.queue = slices.Delete(c.queue, 0, n)
	c.mu.Unlock()
	begun, plan := time.Now(), MakePlan(events)
	if len(plan.Objects) > 0 && c.cfg.Objects != nil {
		err = c.cfg.Objects(ctx)
	}
	if err == nil && len(plan.Responses) > 0 && c.cfg.Responses != nil {
		err = c.cfg.Responses(ctx)
	}
	if err != nil {
		c.failures.Inc()
		c.put(events)
		return err
	}
	c.drained.Observe(float64(n))
	c.consumed.Observe(time.Since(begun).Seconds())
	c.actions.WithLabelValues("objects").Add(float64(len(plan.Objects)))
	c.actions.WithLabelValues("responses").Add(float64(len(plan.Responses)))
	c.actions.WithLabelValues("warm").Add(float64(len(plan.Warm)))
	c.cfg.Warm(plan.Warm...)
	return nil
}

// Run consumes WarmupOnStartup, and every After what a failed consumption left, until ctx ends.
func (c *Consumer) Run(ctx context.Context) {
	c.put([]Event{{Kind: WarmupOnStartup}})
	_, err := c.consume(ctx)
	tick := time.NewTicker(c.cfg.After)
	defer tick.Stop()
	for {
		if err != nil && ctx.Err() == nil {
			c.cfg.Log.WarnContext(ctx, "events could not be consumed; the next run tries again", "after", c.cfg.After, "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var n int
		c.autoRuns.Inc()
		if n, err = c.consume(ctx); n > 0 {
			c.autoHit.Inc()
		}
	}
}
